import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.api.*;
import org.apache.kafka.streams.processor.internals.InternalTopicConfig;
import org.apache.kafka.streams.processor.internals.InternalTopologyBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Prints what Kafka Streams says about the topologies of test_describe.py, one file each: describe(), then the internal topics with their
 * configs and the co-partitioned groups. Run by hand when a topology is added (class path: the jar set kafka-streams):
 * java -cp ... Describe.java describe/
 */
public class Describe {
    static final Serde<String> S = Serdes.String();
    static final Serde<Long> L = Serdes.Long();
    static final Consumed<String, String> IN = Consumed.with(S, S);
    static final Produced<String, String> OUT = Produced.with(S, S);
    static final Duration MINUTE = Duration.ofMinutes(1);
    static final Duration SECONDS = Duration.ofSeconds(10);
    static final Map<String, Consumer<StreamsBuilder>> CASES = new LinkedHashMap<>();

    static class Pass implements Processor<String, String, String, String> {
        ProcessorContext<String, String> context;
        @Override public void init(ProcessorContext<String, String> context) { this.context = context; }
        @Override public void process(org.apache.kafka.streams.processor.api.Record<String, String> record) { context.forward(record); }
    }

    static class PassValues implements FixedKeyProcessor<String, String, String> {
        FixedKeyProcessorContext<String, String> context;
        @Override public void init(FixedKeyProcessorContext<String, String> context) { this.context = context; }
        @Override public void process(FixedKeyRecord<String, String> record) { context.forward(record); }
    }

    static class Transform implements ValueTransformerWithKey<String, String, String> {
        @Override public void init(org.apache.kafka.streams.processor.ProcessorContext context) { }
        @Override public String transform(String key, String value) { return value; }
        @Override public void close() { }
    }

    static KStream<String, String> stream(StreamsBuilder b, String topic) { return b.stream(topic, IN); }
    static KTable<String, String> table(StreamsBuilder b, String topic) { return b.table(topic, IN); }

    static void cases() {
        CASES.put("stateless", b -> {
            KStream<String, String> a = stream(b, "a");
            a.filter((k, v) -> true).filterNot((k, v) -> false).mapValues(v -> v).map((k, v) -> KeyValue.pair(k, v)).flatMapValues(v -> List.of(v))
                .flatMap((k, v) -> List.of(KeyValue.pair(k, v))).selectKey((k, v) -> v).peek((k, v) -> { }).to("out", OUT);
            a.foreach((k, v) -> { });
            a.print(Printed.<String, String>toSysOut().withLabel("here"));
            a.merge(stream(b, "b")).to("merged", OUT);
            b.stream(List.of("c", "d"), IN).to((k, v, context) -> v, OUT);
        });
        CASES.put("named", b -> {
            b.stream("a", Consumed.with(S, S).withName("source")).filter((k, v) -> true, Named.as("good")).mapValues(v -> v, Named.as("mapped"))
                .selectKey((k, v) -> v, Named.as("rekey")).groupByKey(Grouped.with("groups", S, S)).count(Named.as("counter"), Materialized.as("counts"))
                .toStream(Named.as("out-stream")).to("out", Produced.with(S, L).withName("sink"));
        });
        CASES.put("branch", b -> {
            Map<String, KStream<String, String>> m = stream(b, "a").split().branch((k, v) -> true).branch((k, v) -> false).defaultBranch();
            int[] n = {0};
            new TreeMap<>(m).values().forEach(s -> s.to("out" + n[0]++, OUT));
        });
        CASES.put("branch-named", b -> {
            Map<String, KStream<String, String>> m = stream(b, "a").split(Named.as("by-")).branch((k, v) -> true, Branched.as("good"))
                .branch((k, v) -> false).noDefaultBranch();
            m.get("by-good").to("good", OUT);
            m.get("by-2").to("second", OUT);
        });
        CASES.put("count", b -> stream(b, "a").groupByKey().count().toStream().to("out", Produced.with(S, L)));
        CASES.put("group-by-count", b -> stream(b, "a").groupBy((k, v) -> v, Grouped.with(S, S)).count().toStream().to("out", Produced.with(S, L)));
        CASES.put("group-by-named", b -> stream(b, "a").groupBy((k, v) -> v, Grouped.with("regroup", S, S)).reduce((x, y) -> y).toStream().to("out", OUT));
        CASES.put("rekeyed-twice", b -> {
            KStream<String, String> byUser = stream(b, "a").filter((k, v) -> true).selectKey((k, v) -> v);
            byUser.groupByKey(Grouped.with(S, S)).count(Materialized.as("counts")).toStream().to("counts-out", Produced.with(S, L));
            byUser.groupByKey(Grouped.with(S, S)).reduce((x, y) -> y).toStream().to("reduced", OUT);
        });
        CASES.put("grouped-reused", b -> {
            KGroupedStream<String, String> g = stream(b, "a").selectKey((k, v) -> v).groupByKey(Grouped.with(S, S));
            g.count().toStream().to("counts-out", Produced.with(S, L));
            g.reduce((x, y) -> y).toStream().to("reduced", OUT);
        });
        CASES.put("aggregate", b -> stream(b, "a").groupByKey().aggregate(() -> "", (k, v, x) -> x + v, Materialized.with(S, S)).toStream().to("out", OUT));
        CASES.put("orders", b -> {
            KStream<String, String> orders = stream(b, "orders");
            KTable<String, String> customers = table(b, "customers");
            KStream<String, String> byUser = orders.filter((k, v) -> true).selectKey((k, v) -> v);
            byUser.groupByKey(Grouped.with(S, S)).count(Materialized.as("orders-per-user")).toStream().to("orders-per-user", Produced.with(S, L));
            byUser.join(customers, (v, c) -> v + c, Joined.with(S, S, S)).to("orders-enriched", OUT);
            byUser.groupByKey(Grouped.with(S, S)).windowedBy(TimeWindows.ofSizeAndGrace(MINUTE, SECONDS)).aggregate(() -> "", (k, v, x) -> x, Materialized.with(S, S))
                .toStream().to("spent-per-minute", Produced.with(WindowedSerdes.timeWindowedSerdeFrom(String.class, 60000), S));
        });
        CASES.put("windows", b -> {
            KGroupedStream<String, String> g = stream(b, "a").groupByKey();
            g.windowedBy(TimeWindows.ofSizeAndGrace(MINUTE, SECONDS)).count();
            g.windowedBy(TimeWindows.ofSizeAndGrace(MINUTE, SECONDS).advanceBy(SECONDS)).reduce((x, y) -> y, Materialized.as("hops"));
            g.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(MINUTE, SECONDS)).count();
            g.windowedBy(SessionWindows.ofInactivityGapAndGrace(MINUTE, SECONDS)).count();
            g.windowedBy(SessionWindows.ofInactivityGapAndGrace(MINUTE, SECONDS)).reduce((x, y) -> y);
            g.windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofDays(2))).emitStrategy(EmitStrategy.onWindowClose()).count(Named.as("closing"));
            g.windowedBy(SlidingWindows.ofTimeDifferenceWithNoGrace(MINUTE)).aggregate(() -> "", (k, v, x) -> x, Named.as("slides"), Materialized.with(S, S));
        });
        CASES.put("suppress", b -> stream(b, "a").groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(MINUTE, SECONDS)).count()
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded())).toStream((k, v) -> k.key()).to("out", Produced.with(S, L)));
        CASES.put("suppress-named", b -> table(b, "a").suppress(Suppressed.untilTimeLimit(MINUTE, Suppressed.BufferConfig.maxRecords(10)).withName("hold"))
            .toStream().to("out", OUT));
        CASES.put("table", b -> {
            KTable<String, String> t = table(b, "a");
            t.filter((k, v) -> true).mapValues(v -> v).filterNot((k, v) -> false, Materialized.as("kept")).toStream().to("out", OUT);
            t.transformValues(Transform::new).toStream().to("transformed", OUT);
            b.table("b", IN, Materialized.as("b-store")).mapValues(v -> v, Materialized.as("mapped")).toStream((k, v) -> v).to("rekeyed", OUT);
        });
        CASES.put("to-table", b -> {
            stream(b, "a").toTable(Materialized.with(S, S)).toStream().to("out", OUT);
            stream(b, "b").selectKey((k, v) -> v).toTable(Named.as("as-table"), Materialized.<String, String, org.apache.kafka.streams.state.KeyValueStore<org.apache.kafka.common.utils.Bytes, byte[]>>as("t").withKeySerde(S).withValueSerde(S)).toStream().to("out2", OUT);
            stream(b, "c").selectKey((k, v) -> v).toTable(Materialized.with(S, S)).toStream().to("out3", OUT);
        });
        CASES.put("table-group", b -> {
            KGroupedTable<String, String> g = table(b, "a").groupBy((k, v) -> KeyValue.pair(v, v), Grouped.with(S, S));
            g.count().toStream().to("counts", Produced.with(S, L));
            g.reduce((x, y) -> y, (x, y) -> x, Materialized.as("reduced")).toStream().to("reduced-out", OUT);
            table(b, "b").groupBy((k, v) -> KeyValue.pair(v, v), Grouped.with("regroup", S, S)).aggregate(() -> "", (k, v, x) -> x, (k, v, x) -> x, Materialized.with(S, S))
                .toStream().to("aggregated", OUT);
        });
        CASES.put("stream-stream-join", b -> stream(b, "a").join(stream(b, "b"), (x, y) -> x + y, JoinWindows.ofTimeDifferenceAndGrace(MINUTE, SECONDS), StreamJoined.with(S, S, S)).to("out", OUT));
        CASES.put("stream-stream-left", b -> stream(b, "a").leftJoin(stream(b, "b"), (x, y) -> x + y, JoinWindows.ofTimeDifferenceAndGrace(MINUTE, SECONDS), StreamJoined.with(S, S, S)).to("out", OUT));
        CASES.put("stream-stream-outer", b -> stream(b, "a").selectKey((k, v) -> v).outerJoin(stream(b, "b").map((k, v) -> KeyValue.pair(v, v)), (x, y) -> x + y,
            JoinWindows.ofTimeDifferenceAndGrace(MINUTE, SECONDS), StreamJoined.with(S, S, S)).to("out", OUT));
        CASES.put("stream-stream-named", b -> stream(b, "a").selectKey((k, v) -> v).leftJoin(stream(b, "b"), (x, y) -> x + y, JoinWindows.ofTimeDifferenceAndGrace(MINUTE, SECONDS),
            StreamJoined.with(S, S, S).withName("both").withStoreName("both-store")).to("out", OUT));
        CASES.put("stream-stream-asymmetric", b -> stream(b, "a").join(stream(b, "b"), (x, y) -> x + y, JoinWindows.ofTimeDifferenceAndGrace(MINUTE, SECONDS).before(Duration.ZERO), StreamJoined.with(S, S, S).withName("j")).to("out", OUT));
        CASES.put("stream-self-join", b -> {
            KStream<String, String> a = stream(b, "a");
            a.join(a, (x, y) -> x + y, JoinWindows.ofTimeDifferenceAndGrace(MINUTE, SECONDS), StreamJoined.with(S, S, S)).to("out", OUT);
        });
        CASES.put("stream-table-join", b -> {
            KTable<String, String> t = table(b, "t");
            stream(b, "a").join(t, (x, y) -> x + y).to("out", OUT);
            stream(b, "b").leftJoin(t, (x, y) -> x + y, Joined.with(S, S, S).withName("look")).to("out2", OUT);
            stream(b, "c").selectKey((k, v) -> v).leftJoin(t, (x, y) -> x + y, Joined.with(S, S, S)).to("out3", OUT);
            stream(b, "d").selectKey((k, v) -> v).join(t, (x, y) -> x + y, Joined.with(S, S, S).withName("named")).to("out4", OUT);
        });
        CASES.put("stream-computed-table-join", b -> {
            KTable<String, String> t = table(b, "t").filter((k, v) -> true).mapValues(v -> v);
            stream(b, "a").join(t, (x, y) -> x + y).to("out", OUT);
        });
        CASES.put("global-join", b -> {
            GlobalKTable<String, String> g = b.globalTable("g", IN);
            GlobalKTable<String, String> h = b.globalTable("h", Consumed.with(S, S), Materialized.as("h-store"));
            stream(b, "a").join(g, (k, v) -> v, (x, y) -> x + y).to("out", OUT);
            stream(b, "b").leftJoin(h, (k, v) -> v, (x, y) -> x + y, Named.as("look")).to("out2", OUT);
        });
        CASES.put("table-table-join", b -> {
            KTable<String, String> t = table(b, "a");
            KTable<String, String> u = table(b, "b");
            t.join(u, (x, y) -> x + y).toStream().to("out", OUT);
            t.leftJoin(u, (x, y) -> x + y, Materialized.as("left-store")).toStream().to("out2", OUT);
            t.outerJoin(u, (x, y) -> x + y, Named.as("both")).toStream().to("out3", OUT);
            t.filter((k, v) -> true).join(u.mapValues(v -> v), (x, y) -> x + y).toStream().to("out4", OUT);
        });
        CASES.put("foreign-key-join", b -> {
            table(b, "a").join(table(b, "b"), v -> v, (x, y) -> x + y).toStream().to("out", OUT);
            table(b, "c").leftJoin(table(b, "d"), v -> v, (x, y) -> x + y, Materialized.as("fk")).toStream().to("out2", OUT);
        });
        CASES.put("foreign-key-named", b -> table(b, "a").filter((k, v) -> true).join(table(b, "b"), v -> v, (x, y) -> x + y, TableJoined.as("rel"), Materialized.with(S, S)).toStream().to("out", OUT));
        CASES.put("cogroup", b -> {
            KGroupedStream<String, String> g = stream(b, "a").groupByKey();
            KGroupedStream<String, String> h = stream(b, "b").groupByKey();
            g.<String>cogroup((k, v, x) -> x + v).cogroup(h, (k, v, x) -> x + v).aggregate(() -> "", Materialized.with(S, S)).toStream().to("out", OUT);
        });
        CASES.put("cogroup-rekeyed", b -> {
            KGroupedStream<String, String> g = stream(b, "a").groupBy((k, v) -> v, Grouped.with(S, S));
            KGroupedStream<String, String> h = stream(b, "b").groupByKey();
            g.<String>cogroup((k, v, x) -> x + v).cogroup(h, (k, v, x) -> x + v).windowedBy(TimeWindows.ofSizeWithNoGrace(MINUTE)).aggregate(() -> "", Named.as("together"), Materialized.as("co")).toStream((k, v) -> k.key()).to("out", OUT);
        });
        CASES.put("cogroup-session", b -> {
            KGroupedStream<String, String> g = stream(b, "a").groupByKey();
            g.<String>cogroup((k, v, x) -> x + v).windowedBy(SessionWindows.ofInactivityGapWithNoGrace(MINUTE)).aggregate(() -> "", (k, x, y) -> x + y, Materialized.with(S, S)).toStream((k, v) -> k.key()).to("out", OUT);
            g.<String>cogroup((k, v, x) -> x + v).windowedBy(SlidingWindows.ofTimeDifferenceWithNoGrace(MINUTE)).aggregate(() -> "", Materialized.with(S, S)).toStream((k, v) -> k.key()).to("out2", OUT);
        });
        CASES.put("repartition", b -> {
            stream(b, "a").repartition(Repartitioned.with(S, S)).to("out", OUT);
            stream(b, "b").selectKey((k, v) -> v).repartition(Repartitioned.with(S, S).withName("again").withNumberOfPartitions(5)).groupByKey().count().toStream().to("out2", Produced.with(S, L));
        });
        CASES.put("process", b -> {
            b.addStateStore(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("seen"), S, S));
            stream(b, "a").process(Pass::new, "seen").to("out", OUT);
            stream(b, "b").processValues(PassValues::new, Named.as("values"), "seen").groupByKey().count().toStream().to("out2", Produced.with(S, L));
            stream(b, "c").process(Pass::new, Named.as("p")).groupByKey(Grouped.with(S, S)).count();
        });
        CASES.put("two-steps", b -> stream(b, "a").groupByKey().count().toStream().map((k, v) -> KeyValue.pair("all", k)).groupByKey(Grouped.with(S, S))
            .reduce((x, y) -> y).toStream().to("out", OUT));
        CASES.put("through-topic", b -> {
            stream(b, "a").to("middle", OUT);
            stream(b, "middle").groupByKey().count().toStream().to("out", Produced.with(S, L));
        });
        CASES.put("merge-rekeyed", b -> stream(b, "a").selectKey((k, v) -> v).merge(stream(b, "b"), Named.as("one")).groupByKey(Grouped.with(S, S)).count().toStream().to("out", Produced.with(S, L)));
        CASES.put("same-topic-twice", b -> {
            stream(b, "a").filter((k, v) -> true).to("out", OUT);
            stream(b, "a").mapValues(v -> v).to("out2", OUT);
        });
        CASES.put("window-table-join", b -> {
            KTable<Windowed<String>, Long> w = stream(b, "a").groupByKey().windowedBy(TimeWindows.ofSizeAndGrace(MINUTE, SECONDS)).count(Materialized.as("w"));
            w.filter((k, v) -> true).mapValues(v -> v).toStream((k, v) -> k.key()).to("out", Produced.with(S, L));
        });
        CASES.put("unlogged", b -> stream(b, "a").groupByKey().count(Materialized.<String, Long, org.apache.kafka.streams.state.KeyValueStore<org.apache.kafka.common.utils.Bytes, byte[]>>as("c").withLoggingDisabled()).toStream().to("out", Produced.with(S, L)));
        CASES.put("retention", b -> stream(b, "a").groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(MINUTE)).count(Materialized.<String, Long, org.apache.kafka.streams.state.WindowStore<org.apache.kafka.common.utils.Bytes, byte[]>>as("w").withRetention(Duration.ofHours(2))).toStream((k, v) -> k.key()).to("out", Produced.with(S, L)));
    }

    static void more() {
        CASES.put("cogroup-named-groups", b -> {
            KGroupedStream<String, String> g = stream(b, "a").groupBy((k, v) -> v, Grouped.with("one", S, S));
            KGroupedStream<String, String> h = stream(b, "b").selectKey((k, v) -> v).groupByKey(Grouped.with("two", S, S));
            g.<String>cogroup((k, v, x) -> x + v).cogroup(h, (k, v, x) -> x + v).aggregate(() -> "", Materialized.with(S, S)).toStream().to("out", OUT);
        });
        CASES.put("process-unnamed", b -> stream(b, "a").processValues(PassValues::new).process(Pass::new).to("out", OUT));
        CASES.put("named-group-reused", b -> {
            KGroupedStream<String, String> g = stream(b, "a").groupBy((k, v) -> v, Grouped.with("g", S, S));
            g.count().toStream().to("counts", Produced.with(S, L));
            g.reduce((x, y) -> y).toStream().to("reduced", OUT);
            g.windowedBy(TimeWindows.ofSizeWithNoGrace(MINUTE)).count();
        });
        CASES.put("joined-twice", b -> {
            KStream<String, String> a = stream(b, "a").selectKey((k, v) -> v);
            a.join(table(b, "t"), (x, y) -> x + y, Joined.with(S, S, S)).to("out", OUT);
            a.leftJoin(table(b, "u"), (x, y) -> x + y, Joined.with(S, S, S)).to("out2", OUT);
            a.join(stream(b, "s"), (x, y) -> x + y, JoinWindows.ofTimeDifferenceWithNoGrace(MINUTE), StreamJoined.with(S, S, S)).to("out3", OUT);
        });
        CASES.put("named-table-group-reused", b -> {
            KGroupedTable<String, String> g = b.table("a", Consumed.with(S, S).withName("rows")).groupBy((k, v) -> KeyValue.pair(v, v), Grouped.with("g", S, S));
            g.count().toStream().to("counts", Produced.with(S, L));
            g.reduce((x, y) -> y, (x, y) -> x, Named.as("red"), Materialized.with(S, S)).toStream().to("reduced", OUT);
        });
        CASES.put("join-of-join", b -> {
            KTable<String, String> t = table(b, "a").outerJoin(table(b, "b"), (x, y) -> x + y);
            stream(b, "s").join(t.mapValues(v -> v), (x, y) -> x + y).to("out", OUT);
            t.groupBy((k, v) -> KeyValue.pair(v, v), Grouped.with(S, S)).count().toStream().to("out2", Produced.with(S, L));
        });
        CASES.put("suppress-joined", b -> {
            KTable<String, String> t = table(b, "a").suppress(Suppressed.untilTimeLimit(MINUTE, Suppressed.BufferConfig.unbounded()));
            stream(b, "s").leftJoin(t, (x, y) -> x + y).to("out", OUT);
        });
        CASES.put("foreign-key-chain", b -> {
            KTable<String, String> t = table(b, "a").join(table(b, "b"), v -> v, (x, y) -> x + y);
            t.leftJoin(table(b, "c"), v -> v, (x, y) -> x + y).toStream().to("out", OUT);
        });
        CASES.put("many-branches", b -> {
            KStream<String, String> s = stream(b, "a");
            for (int i = 0; i < 9; i++) {
                KStream<String, String> f = s.filter((k, v) -> true, Named.as("f" + i));
                for (int j = 0; j <= i % 3; j++) {
                    f = f.mapValues(v -> v);
                }
                f.merge(s.peek((k, v) -> { }), Named.as("m" + i)).to("t" + i, OUT);
            }
        });
        CASES.put("windowed-rekeyed", b -> stream(b, "a").groupBy((k, v) -> v, Grouped.with(S, S)).windowedBy(SessionWindows.ofInactivityGapWithNoGrace(MINUTE)).count().toStream((k, v) -> k.key()).to("out", Produced.with(S, L)));
        CASES.put("shared-stores", b -> {
            b.addStateStore(Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("s1"), S, S));
            b.addStateStore(Stores.timestampedKeyValueStoreBuilder(Stores.persistentTimestampedKeyValueStore("s2"), S, S));
            b.addStateStore(Stores.windowStoreBuilder(Stores.persistentWindowStore("s3", Duration.ofHours(1), MINUTE, false), S, S));
            b.addStateStore(Stores.sessionStoreBuilder(Stores.persistentSessionStore("s4", Duration.ofHours(1)), S, S));
            stream(b, "a").process(Pass::new, Named.as("p1"), "s1", "s2", "s3", "s4");
            stream(b, "b").process(Pass::new, Named.as("p2"), "s4");
            stream(b, "c").process(Pass::new, Named.as("p3"));
        });
    }

    static Object field(Object of, String name) throws Exception {
        for (Class<?> c = of.getClass(); c != null; c = c.getSuperclass()) {
            try {
                Field f = c.getDeclaredField(name);
                f.setAccessible(true);
                return f.get(of);
            } catch (NoSuchFieldException e) {
                continue;
            }
        }
        throw new IllegalStateException(name);
    }

    static void topics(StringBuilder text, String kind, Map<String, InternalTopicConfig> topics) {
        new TreeMap<>(topics).forEach((name, config) -> {
            Map<String, String> properties = new TreeMap<>(config.properties(Map.of(), 86400000L));
            text.append("   ").append(kind).append(' ').append(name).append(" partitions=").append(config.numberOfPartitions().map(String::valueOf).orElse("-"))
                .append(' ').append(properties).append('\n');
        });
    }

    public static void main(String[] arguments) throws Exception {
        cases();
        more();
        for (Map.Entry<String, Consumer<StreamsBuilder>> entry : CASES.entrySet()) {
            StreamsBuilder builder = new StreamsBuilder();
            entry.getValue().accept(builder);
            Properties properties = new Properties();
            properties.put("application.id", "app");
            properties.put("bootstrap.servers", "localhost:9092");
            properties.put("default.key.serde", Serdes.StringSerde.class);
            properties.put("default.value.serde", Serdes.StringSerde.class);
            if (arguments.length > 1) {
                properties.put("topology.optimization", arguments[1]);
            }
            Topology topology = builder.build(properties);
            StringBuilder text = new StringBuilder(topology.describe().toString());
            InternalTopologyBuilder internal = (InternalTopologyBuilder) field(topology, "internalTopologyBuilder");
            internal.rewriteTopology(new StreamsConfig(properties));
            text.append("Internal topics:\n");
            internal.buildTopology();
            TreeMap<Integer, InternalTopologyBuilder.TopicsInfo> infos = new TreeMap<>();
            for (Map.Entry<?, InternalTopologyBuilder.TopicsInfo> each : internal.subtopologyToTopicsInfo().entrySet()) {
                infos.put((Integer) field(each.getKey(), "nodeGroupId"), each.getValue());
            }
            infos.forEach((sub, info) -> {
                text.append("  ").append(sub).append(" sources ").append(new TreeSet<>(info.sourceTopics)).append(" sinks ").append(new TreeSet<>(info.sinkTopics)).append('\n');
                topics(text, "repartition", info.repartitionSourceTopics);
                topics(text, "changelog", info.stateChangelogTopics);
            });
            List<String> groups = new ArrayList<>();
            for (Set<String> group : internal.copartitionGroups()) {
                groups.add(new TreeSet<>(group).toString());
            }
            groups.sort(null);
            text.append("Co-partitioned: ").append(groups).append('\n');
            Files.writeString(Path.of(arguments[0], entry.getKey() + ".txt"), text.toString());
        }
    }
}
