package catalogue

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// ErrOther says that a file is not a catalogue of this version: it is damaged, or
// another program wrote it. It can be made anew from the run's other files.
var ErrOther = errors.New("not a catalogue that this program can read")

// maxBytes bounds a catalogue that is read: some million rows.
const maxBytes = 1 << 28

// Read reads the catalogue at path. fs.ErrNotExist: there is none; ErrOther: make it
// anew.
func Read(fsys fsx.FS, path string) (*Catalogue, error) {
	data, err := readFile(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	c, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read catalogue %s: %w: %w", path, ErrOther, err)
	}
	return c, nil
}

// Write makes the catalogue the content of the file at path, durably and as a
// whole. wrote is false where the file had that content already.
func (c *Catalogue) Write(fsys fsx.FS, path string) (wrote bool, err error) {
	data, err := c.encode()
	if err != nil {
		return false, fmt.Errorf("write catalogue %s: %w", path, err)
	}
	old, err := readFile(fsys, path)
	if err == nil && bytes.Equal(old, data) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrOther) {
		return false, fmt.Errorf("write catalogue: %w", err)
	}
	if err := fsx.WriteFile(fsys, path, data); err != nil {
		return false, fmt.Errorf("write catalogue: %w", err)
	}
	return true, nil
}

// readFile returns a file's content, if it is not absurdly long.
func readFile(fsys fsx.FS, path string) ([]byte, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxBytes {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: want a file of at most %d bytes", ErrOther, maxBytes)}
	}
	return fsx.ReadFile(fsys, path)
}

// database is a connection of the driver whose database lies in memory.
type database interface {
	Serialize() ([]byte, error)
	Deserialize(data []byte) error
}

// inMemory calls use with an empty database and its only connection.
func inMemory(use func(ctx context.Context, conn *sql.Conn) error) error {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(use(ctx, conn), conn.Close())
}

// encode returns the database's file. The same catalogue gives the same bytes.
func (c *Catalogue) encode() (data []byte, err error) {
	err = inMemory(func(ctx context.Context, conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
			return err
		}
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := c.fill(ctx, tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		return conn.Raw(func(driver any) (err error) {
			data, err = driver.(database).Serialize()
			return err
		})
	})
	return data, err
}

// fill makes the tables and their rows.
func (c *Catalogue) fill(ctx context.Context, tx *sql.Tx) error {
	for _, t := range tables {
		if _, err := tx.ExecContext(ctx, t.create()); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return errors.Join(insert(ctx, tx, &netTable, c.Nets), insert(ctx, tx, &matchTable, c.Matches),
		insert(ctx, tx, &ratingTable, c.Ratings), insert(ctx, tx, &publishedTable, c.Published))
}

// insert adds the rows of a table.
func insert[T any, R row[T]](ctx context.Context, tx *sql.Tx, t *table, rows []T) error {
	statement, err := tx.PrepareContext(ctx, t.insert())
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	defer statement.Close()
	for i := range rows {
		if _, err := statement.ExecContext(ctx, R(&rows[i]).fields()...); err != nil {
			return fmt.Errorf("table %s, row %d: %w", t.name, i+1, err)
		}
	}
	return nil
}

// decode reads a database's file. Nothing in it is run: only the known tables are
// read, and only if they are as this program makes them.
func decode(data []byte) (*Catalogue, error) {
	if !bytes.HasPrefix(data, []byte("SQLite format 3\x00")) {
		return nil, errors.New("it is not an sqlite file")
	}
	c := &Catalogue{}
	err := inMemory(func(ctx context.Context, conn *sql.Conn) error {
		if err := conn.Raw(func(driver any) error { return driver.(database).Deserialize(data) }); err != nil {
			return err
		}
		if err := checkSchema(ctx, conn); err != nil {
			return err
		}
		var err [4]error
		c.Nets, err[0] = selectAll[Net](ctx, conn, &netTable)
		c.Matches, err[1] = selectAll[Match](ctx, conn, &matchTable)
		c.Ratings, err[2] = selectAll[Rating](ctx, conn, &ratingTable)
		c.Published, err[3] = selectAll[Published](ctx, conn, &publishedTable)
		return errors.Join(err[:]...)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// checkSchema holds version, tables and pages against what this program writes.
func checkSchema(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "PRAGMA trusted_schema = OFF"); err != nil {
		return err
	}
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version != schemaVersion {
		return fmt.Errorf("its version is %d, this program reads %d", version, schemaVersion)
	}
	for _, t := range tables {
		var text string
		err := conn.QueryRowContext(ctx, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", t.name).Scan(&text)
		if err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		if text != t.create() {
			return fmt.Errorf("table %s has other columns: %.200s", t.name, text)
		}
	}
	var health string
	if err := conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&health); err != nil {
		return err
	}
	if health != "ok" {
		return errors.New(health)
	}
	return nil
}

// selectAll reads the rows of a table.
func selectAll[T any, R row[T]](ctx context.Context, conn *sql.Conn, t *table) ([]T, error) {
	rows, err := conn.QueryContext(ctx, t.query())
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.name, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		if err := rows.Scan(R(&one).fields()...); err != nil {
			return nil, fmt.Errorf("table %s, row %d: %w", t.name, len(all)+1, err)
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
