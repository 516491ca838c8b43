r"""Orders with all that belongs to them: every kind of join of a stream.

Shows: a join with a table (customers: on the key), with a global table (products: on a field of the order, whatever
the partitions are), and with another stream (payments: within ten minutes, and what was not paid in time). An order is
keyed by its customer, so customers must have as many partitions as orders.

Run it, with a broker at localhost:9092 (`caudal broker`):

    caudal topic create sales -p 2
    caudal topic create payments -p 2
    caudal topic create buyers -p 2 -c cleanup.policy=compact
    caudal topic create products -p 1 -c cleanup.policy=compact
    caudal run examples/enriched_orders.py

Feed it from another terminal; tables first, since a stream is joined with what the table has at that moment:

    echo 'ana={"city": "Soria"}' | caudal produce buyers -K =
    echo 'p7={"name": "kettle", "price": 20}' | caudal produce products -K =
    echo 'ana={"order": "o1", "product": "p7", "pieces": 2}' | caudal produce sales -K =
    echo 'ana={"order": "o2", "product": "p7", "pieces": 1}' | caudal produce sales -K =
    echo 'o1={"paid": 40}' | caudal produce payments -K =

And look:

    caudal consume deliveries -K ': '
    caudal consume settled -K ': '

`deliveries` has every order with its buyer and product. `settled` has the paid ones at once; the others come as unpaid
when eleven minutes of stream time have passed (ten, and one of grace), that is, with a later order or payment of the
same partition.
"""

from caudal.serde import Json, String
from caudal.streams import StreamsBuilder

builder = StreamsBuilder("enriched-orders")

orders = builder.stream("sales", key=String(), value=Json())
payments = builder.stream("payments", key=String(), value=Json())  # keyed by order
customers = builder.table("buyers", key=String(), value=Json())
products = builder.global_table("products", key=String(), value=Json())


def with_product(order, product):
    """The global table has all products; `product` is None for one that it does not know (left join)."""
    if product is None:
        return {**order, "name": None, "due": None}
    return {**order, "name": product["name"], "due": product["price"] * order["pieces"]}


def with_customer(customer_id, order, customer):
    return {**order, "customer": customer_id, "city": customer["city"]}


priced = orders.left_join(products, with_product, key_selector=lambda customer, order: order["product"])
deliveries = priced.join(customers, with_customer)
deliveries.to("deliveries")

# Another key, so the orders go through a repartition topic by themselves before they meet their payments.
by_order = deliveries.select_key(lambda customer, order: order["order"])


def settlement(order, payment):
    return {"order": order["order"], "due": order["due"], "paid": payment["paid"] if payment else 0}


by_order.left_join(payments, settlement, within="10 minutes", grace="1 minute").to("settled")

if __name__ == "__main__":
    builder.run()
