-- The shop's own database: a SQLite file. Types, NOT NULL and names are what the rest of the pipeline will show.
PRAGMA journal_mode = WAL;  -- the connectors read while the shop writes

CREATE TABLE customers (
    id         INTEGER PRIMARY KEY,
    name       VARCHAR(100) NOT NULL,
    city       VARCHAR(100),
    credit     NUMERIC(10, 2),
    changed_at TIMESTAMP NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);

CREATE TABLE orders (
    id          INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    product     VARCHAR(100) NOT NULL,
    quantity    INTEGER NOT NULL,
    price       NUMERIC(8, 2) NOT NULL,
    voucher     VARCHAR(20),
    placed_at   TIMESTAMP NOT NULL
);

INSERT INTO customers (id, name, city, credit) VALUES
    (1, 'Ana', 'Soria', 500.00),
    (2, 'Ben', 'Cuenca', NULL),
    (3, 'Cleo', NULL, 75.50);

INSERT INTO orders (id, customer_id, product, quantity, price, voucher, placed_at) VALUES
    (1, 1, 'lamp', 2, 30.00, NULL, '2026-01-05 09:00:00'),
    (2, 2, 'chair', 1, 120.50, 'SPRING', '2026-01-05 09:12:30.250'),
    (3, 1, 'desk', 1, 340.00, NULL, '2026-01-05 10:01:00'),
    (4, 3, 'lamp', 4, 27.99, 'SPRING', '2026-01-06 08:30:00');
