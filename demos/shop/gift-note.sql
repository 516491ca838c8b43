-- The orders have a column more: the stream learns it from the registry, and the query hands it on from here on.
CREATE OR REPLACE STREAM orders (number BIGINT KEY)
    WITH (KAFKA_TOPIC = 'shop_orders', FORMAT = 'AVRO');

CREATE OR REPLACE STREAM sales WITH (KAFKA_TOPIC = 'shop_sales', FORMAT = 'AVRO') AS
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
        o.placed_at AS `placed_at`,
        o.gift_note AS `gift_note`
    FROM orders o
    JOIN customers c ON o.customer_id = c.customer
    EMIT CHANGES;
