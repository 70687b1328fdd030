// Runs go-ycsb's client on MongoDB once. It reads what to do from standard input, as JSON, and writes what it did to standard
// output.
//
// It is go-ycsb's command line with MongoDB alone, and without the HTTP server that the command opens for profiles.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/magiconair/properties"
	"github.com/pingcap/go-ycsb/pkg/client"
	"github.com/pingcap/go-ycsb/pkg/measurement"
	"github.com/pingcap/go-ycsb/pkg/prop"
	"github.com/pingcap/go-ycsb/pkg/util"
	_ "github.com/pingcap/go-ycsb/pkg/workload"
	"github.com/pingcap/go-ycsb/pkg/ycsb"
)

type task struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	// CAFile is the certificate authority to trust; nil for connections in plaintext.
	CAFile  *string `json:"ca_file"`
	Threads int     `json:"threads"`
	// Load inserts the records; otherwise they are asked for.
	Load bool `json:"load"`
	// Batch is the number of records of an insert.
	Batch int `json:"batch"`
	// Properties are those of the workload, by go-ycsb's names.
	Properties map[string]string `json:"properties"`
}

type answer struct {
	// Operations that succeeded, by go-ycsb's own count; those of a load are its inserts.
	Operations int64   `json:"operations"`
	Seconds    float64 `json:"seconds"`
	// Word is protocol version and cipher of a TLS session; empty in plaintext.
	Word string `json:"word"`
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
	word, err := t.word()
	if err != nil {
		return answer{}, err
	}
	p := t.properties()
	var seconds float64
	said, err := spoken(func() error {
		measurement.InitMeasure(p)
		workload, err := ycsb.GetWorkloadCreator("core").Create(p)
		if err != nil {
			return err
		}
		defer workload.Close()
		db, err := t.open(p)
		if err != nil {
			return err
		}
		defer db.Close()
		began := time.Now()
		client.NewClient(p, workload, client.DbWrapper{DB: db}).Run(context.Background())
		seconds = time.Since(began).Seconds()
		measurement.Output()
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	operations, err := count(said)
	return answer{operations, seconds, word}, err
}

func (t task) properties() *properties.Properties {
	p := properties.NewProperties()
	set := func(name, value string) {
		if _, _, err := p.Set(name, value); err != nil {
			log.Fatal(err)
		}
	}
	for name, value := range t.Properties {
		set(name, value)
	}
	set(prop.DoTransactions, strconv.FormatBool(!t.Load))
	set(prop.ThreadCount, strconv.Itoa(t.Threads))
	set(prop.BatchSize, strconv.Itoa(t.Batch))
	set(prop.OutputStyle, util.OutputStyleJson)
	// No summaries on the way.
	set(prop.LogInterval, "1000000")
	return p
}

// spoken runs f and returns what is written to standard output meanwhile: go-ycsb's words, and its counts in the last line.
func spoken(f func() error) ([]byte, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	said := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(r)
		said <- all
	}()
	err = f()
	w.Close()
	return <-said, err
}

// count reads go-ycsb's counts of operations by kind, and fails if any operation failed.
func count(said []byte) (int64, error) {
	var last []byte
	lines := bufio.NewScanner(bytes.NewReader(said))
	for lines.Scan() {
		last = bytes.Clone(lines.Bytes())
	}
	var kinds []struct{ Operation, Count string }
	if err := json.Unmarshal(last, &kinds); err != nil {
		return 0, fmt.Errorf("go-ycsb did not count what it did: %w: %s", err, last)
	}
	for _, kind := range kinds {
		if strings.HasSuffix(kind.Operation, "_ERROR") {
			return 0, fmt.Errorf("%s of go-ycsb's operations are %s", kind.Count, kind.Operation)
		}
	}
	for _, kind := range kinds {
		if kind.Operation == "TOTAL" {
			return strconv.ParseInt(kind.Count, 10, 64)
		}
	}
	return 0, errors.New("go-ycsb did nothing")
}
