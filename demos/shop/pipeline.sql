-- Every order with its customer. No column is declared here: the registry has the database's.
SET 'auto.offset.reset' = 'earliest';

CREATE TABLE customers (customer BIGINT PRIMARY KEY)
    WITH (KAFKA_TOPIC = 'shop_customers', FORMAT = 'AVRO');

CREATE STREAM orders (number BIGINT KEY)
    WITH (KAFKA_TOPIC = 'shop_orders', FORMAT = 'AVRO');

-- Names in backquotes stay as they are written; others would be in capitals.
CREATE STREAM sales WITH (KAFKA_TOPIC = 'shop_sales', FORMAT = 'AVRO') AS
    SELECT
        o.customer_id AS `customer`,
        o.id AS `order_id`,
        AS_VALUE(o.customer_id) AS `customer_id`,
        c.name AS `name`,
        c.city AS `city`,
        o.product AS `product`,
        o.quantity AS `quantity`,
        o.price AS `price`,
        o.voucher AS `voucher`,
        o.placed_at AS `placed_at`
    FROM orders o
    JOIN customers c ON o.customer_id = c.customer
    EMIT CHANGES;
