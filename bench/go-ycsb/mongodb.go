package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"

	"github.com/magiconair/properties"
	_ "github.com/pingcap/go-ycsb/db/mongodb"
	"github.com/pingcap/go-ycsb/pkg/ycsb"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

// database is the only one that go-ycsb uses.
const database = "ycsb"

// open connects by go-ycsb's MongoDB, with a connection for every thread. Inserts of several records are added to it.
func (t task) open(p *properties.Properties) (ycsb.DB, error) {
	pool := t.Threads
	if t.Batch > 1 {
		// It will not be used.
		pool = 0
	}
	if _, _, err := p.Set("mongodb.url", t.uri(pool)); err != nil {
		return nil, err
	}
	if t.CAFile != nil {
		if _, _, err := p.Set("mongodb.tls_ca_file", *t.CAFile); err != nil {
			return nil, err
		}
	}
	log.SetOutput(io.Discard)
	db, err := ycsb.GetDBCreator("mongodb").Create(p)
	log.SetOutput(os.Stderr)
	if err != nil || t.Batch == 1 {
		return db, err
	}
	return t.openBatches(db)
}

func (t task) uri(pool int) string {
	uri := fmt.Sprintf("mongodb://%s/%s?minPoolSize=%d&maxPoolSize=100", t.address(), database, pool)
	if t.CAFile != nil {
		uri += "&tls=true"
	}
	return uri
}

func (t task) address() string {
	return net.JoinHostPort(t.Host, strconv.Itoa(t.Port))
}

// batches inserts several records at a time, which go-ycsb's MongoDB cannot: it inserts those of a batch one by one.
type batches struct {
	ycsb.DB
	client *mongo.Client
}

func (t task) openBatches(db ycsb.DB) (ycsb.DB, error) {
	settings := options.Client().ApplyURI(t.uri(t.Threads))
	config, err := t.tls()
	if err != nil {
		return nil, err
	}
	settings.SetTLSConfig(config)
	client, err := mongo.Connect(context.Background(), settings)
	if err != nil {
		return nil, err
	}
	return batches{db, client}, client.Ping(context.Background(), nil)
}

func (b batches) Close() error {
	if err := b.client.Disconnect(context.Background()); err != nil {
		return err
	}
	return b.DB.Close()
}

// BatchInsert makes documents as go-ycsb's Insert does.
func (b batches) BatchInsert(ctx context.Context, table string, keys []string, values []map[string][]byte) error {
	documents := make([]interface{}, len(keys))
	for i, key := range keys {
		document := bson.M{"_id": key}
		for name, value := range values[i] {
			document[name] = value
		}
		documents[i] = document
	}
	_, err := b.client.Database(database).Collection(table).InsertMany(ctx, documents)
	return err
}

func (b batches) BatchRead(context.Context, string, []string, []string) ([]map[string][]byte, error) {
	return nil, errOnlyInserts
}

func (b batches) BatchUpdate(context.Context, string, []string, []map[string][]byte) error {
	return errOnlyInserts
}

func (b batches) BatchDelete(context.Context, string, []string) error {
	return errOnlyInserts
}

var errOnlyInserts = errors.New("batches are of inserts alone")

// tls is what the driver uses too; nil for connections in plaintext.
func (t task) tls() (*tls.Config, error) {
	if t.CAFile == nil {
		return nil, nil
	}
	pem, err := os.ReadFile(*t.CAFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", *t.CAFile)
	}
	return &tls.Config{RootCAs: roots, ServerName: t.Host}, nil
}

// word says what a TLS session is: the driver does not say it of its own.
func (t task) word() (string, error) {
	config, err := t.tls()
	if err != nil || config == nil {
		return "", err
	}
	connection, err := tls.Dial("tcp", t.address(), config)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	state := connection.ConnectionState()
	// OpenSSL's name, which has a v.
	version := map[uint16]string{tls.VersionTLS12: "TLSv1.2", tls.VersionTLS13: "TLSv1.3"}[state.Version]
	return version + " " + tls.CipherSuiteName(state.CipherSuite), nil
}
