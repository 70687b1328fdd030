// Connects, logs in and disconnects by Go's MySQL driver for a while. It reads what to do from standard input, as JSON, and
// writes what it did to standard output.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

type task struct {
	Login struct {
		Host     string  `json:"host"`
		Port     int     `json:"port"`
		User     string  `json:"user"`
		Password string  `json:"password"`
		Database string  `json:"database"`
		CAFile   *string `json:"ca_file"`
	} `json:"login"`
	Seconds int `json:"seconds"`
	AtATime int `json:"at_a_time"`
}

type answer struct {
	Connects int     `json:"connects"`
	Seconds  float64 `json:"seconds"`
	Word     string  `json:"word"`
}

func main() {
	var t task
	if err := json.NewDecoder(os.Stdin).Decode(&t); err != nil {
		log.Fatal(err)
	}
	a, err := run(t)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		log.Fatal(err)
	}
}

func run(t task) (answer, error) {
	db, err := open(t)
	if err != nil {
		return answer{}, err
	}
	defer db.Close()
	word, err := serversWord(db)
	if err != nil {
		return answer{}, err
	}
	began := time.Now()
	deadline := began.Add(time.Duration(t.Seconds) * time.Second)
	type result struct {
		connects int
		err      error
	}
	results := make(chan result)
	for range t.AtATime {
		go func() {
			connects, err := connectUntil(db, deadline)
			results <- result{connects, err}
		}()
	}
	a := answer{Word: word}
	for range t.AtATime {
		r := <-results
		if r.err != nil {
			return answer{}, r.err
		}
		a.Connects += r.connects
	}
	a.Seconds = time.Since(began).Seconds()
	return a, nil
}

// open prepares connections that are never kept: closing one closes its socket.
func open(t task) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User = t.Login.User
	config.Passwd = t.Login.Password
	config.Net = "tcp"
	config.Addr = net.JoinHostPort(t.Login.Host, strconv.Itoa(t.Login.Port))
	config.DBName = t.Login.Database
	if t.Login.CAFile != nil {
		pem, err := os.ReadFile(*t.Login.CAFile)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", *t.Login.CAFile)
		}
		// Without a ClientSessionCache no session is resumed.
		config.TLS = &tls.Config{RootCAs: roots, ServerName: t.Login.Host, MinVersion: tls.VersionTLS13}
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(0)
	return db, nil
}

func connectUntil(db *sql.DB, deadline time.Time) (int, error) {
	connects := 0
	for time.Now().Before(deadline) {
		connection, err := db.Conn(context.Background())
		if err != nil {
			return 0, err
		}
		if err := connection.Close(); err != nil {
			return 0, err
		}
		connects++
	}
	return connects, nil
}

// serversWord asks the server what a session is: protocol version and cipher, or nothing for one in plaintext.
func serversWord(db *sql.DB) (string, error) {
	connection, err := db.Conn(context.Background())
	if err != nil {
		return "", err
	}
	defer connection.Close()
	words := []string{}
	for _, name := range []string{"Ssl_version", "Ssl_cipher"} {
		var ignored, value string
		row := connection.QueryRowContext(context.Background(), "SHOW SESSION STATUS LIKE '"+name+"'")
		if err := row.Scan(&ignored, &value); err != nil {
			return "", err
		}
		if value != "" {
			words = append(words, value)
		}
	}
	return strings.Join(words, " "), nil
}
