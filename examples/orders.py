# orders.py
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder, tumbling

builder = StreamsBuilder("orders-by-user")

orders = builder.stream("orders", key=String(), value=Json())
customers = builder.table("customers", key=String(), value=Json())

by_user = orders.filter(lambda key, order: order["amount"] > 0).select_key(lambda key, order: order["user"])
by_user.group_by_key().count(store="orders-per-user").to("orders-per-user", value=Long())
by_user.join(customers, lambda order, customer: {**order, "city": customer["city"]}).to("orders-enriched")
by_user.group_by_key().windowed_by(tumbling("1 minute", grace="10 seconds")).aggregate(
    lambda: 0, lambda key, order, total: total + order["amount"], value=Long()
).to("spent-per-minute")

if __name__ == "__main__":
    builder.run()  # the flags of `caudal run` from the command line
