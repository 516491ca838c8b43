import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.BranchedKStream;
import org.apache.kafka.streams.kstream.CogroupedKStream;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.SessionWindowedCogroupedKStream;
import org.apache.kafka.streams.kstream.SessionWindowedKStream;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindowedCogroupedKStream;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.ValueJoiner;
import org.apache.kafka.streams.kstream.ValueJoinerWithKey;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Builds the topology of a golden case with Kafka Streams' own DSL; tests/golden/topologies.py does the same with Caudal's.
 * A case lists operations as ["name", argument, ..., {keyword: value}]. An operation works on the result of the one before
 * it, or on the one named by "on"; "as" names its result. The key serde is tracked, so that sinks can be read back.
 */
@SuppressWarnings({"unchecked", "rawtypes"})
final class Topologies {
    private static final JsonSerde JSON = new JsonSerde();
    /** What Kafka's windows without a grace are given in the cases that do not say one. */
    private static final long NO_GRACE = 0;

    private static final Duration KEPT = Duration.ofDays(1);

    private record Node(Object it, Serde key) {}

    final StreamsBuilder builder = new StreamsBuilder();
    final Map<String, Serde> keysOfSources = new HashMap<>();
    final Map<String, Serde> valuesOfSources = new HashMap<>();
    /** The serdes of the key and the value of every topic that is written. */
    final Map<String, Serde[]> sinks = new LinkedHashMap<>();

    private final Map<String, Node> named = new HashMap<>();
    /** Windowed groups that emit on close. */
    private final Set<Node> closing = new HashSet<>();
    private Node last;

    Topologies(List<List<Object>> operations) {
        for (List<Object> operation : operations) {
            List<Object> arguments = new ArrayList<>(operation.subList(1, operation.size()));
            Map<String, Object> keywords = Map.of();
            if (!arguments.isEmpty() && arguments.get(arguments.size() - 1) instanceof Map<?, ?> map) {
                keywords = (Map<String, Object>) map;
                arguments.remove(arguments.size() - 1);
            }
            Node on = keywords.containsKey("on") ? named((String) keywords.get("on")) : last;
            Node result = apply((String) operation.get(0), on, arguments, keywords);
            if (result != null) {
                last = result;
                if (keywords.containsKey("as")) {
                    named.put((String) keywords.get("as"), result);
                }
            }
        }
    }

    private Node named(String name) {
        if (!named.containsKey(name)) {
            throw new IllegalArgumentException("Nothing is named " + name);
        }
        return named.get(name);
    }

    private static Serde serde(Object name, Serde otherwise) {
        if (name == null) {
            return otherwise;
        }
        return switch ((String) name) {
            case "string" -> Serdes.String();
            case "long" -> Serdes.Long();
            case "json" -> JSON;
            default -> throw new IllegalArgumentException("There is no serde " + name);
        };
    }

    private static Duration millis(Object value) {
        return Duration.ofMillis((Long) value);
    }

    private static Duration grace(Map<String, Object> keywords) {
        return millis(keywords.getOrDefault("grace", NO_GRACE));
    }

    private Node apply(String operation, Node on, List<Object> arguments, Map<String, Object> keywords) {
        return switch (operation) {
            case "stream", "table", "global_table" -> source(operation, arguments, keywords);
            case "add_state_store" -> addStore(arguments, keywords);
            case "filter", "filter_not", "map_values", "to_stream", "transform_values", "suppress", "to_table" ->
                    on.it instanceof KTable table
                            ? onTable(operation, on, table, arguments, keywords)
                            : onStream(operation, on, (KStream) on.it, arguments, keywords);
            case "group_by", "group_by_key" -> group(operation, on, arguments, keywords);
            case "windowed_by" -> windowed(on, arguments, keywords);
            case "cogroup" -> cogroup(on, arguments);
            case "count", "reduce", "aggregate" -> aggregate(operation, on, arguments, keywords);
            case "join", "left_join", "outer_join" -> join(operation, on, arguments, keywords);
            default -> onStream(operation, on, (KStream) on.it, arguments, keywords);
        };
    }

    // -- sources and stores ---------------------------------------------------------------------------------------------

    private Node source(String operation, List<Object> arguments, Map<String, Object> keywords) {
        Serde key = serde(keywords.get("key"), Serdes.String());
        Serde value = serde(keywords.get("value"), JSON);
        List<String> topics = arguments.get(0) instanceof List<?> list ? (List<String>) list : List.of((String) arguments.get(0));
        for (String topic : topics) {
            keysOfSources.put(topic, key);
            valuesOfSources.put(topic, value);
        }
        Consumed<Object, Object> consumed = Consumed.with(key, value);
        if (keywords.containsKey("timestamp")) {
            Functions.Function extractor = Functions.named(keywords.get("timestamp"));
            consumed = consumed.withTimestampExtractor(
                    (record, time) -> (Long) extractor.call(record.key(), record.value(), record.timestamp()));
        }
        Materialized stored = materialized(keywords, key, value);
        Object it = switch (operation) {
            case "stream" -> builder.stream(topics, consumed);
            case "table" -> stored == null ? builder.table(topics.get(0), consumed) : builder.table(topics.get(0), consumed, stored);
            default -> stored == null ? builder.globalTable(topics.get(0), consumed) : builder.globalTable(topics.get(0), consumed, stored);
        };
        return new Node(it, key);
    }

    private Node addStore(List<Object> arguments, Map<String, Object> keywords) {
        String name = (String) arguments.get(0);
        Serde key = Serdes.String();
        long retention = (Long) keywords.getOrDefault("retention", 1_000_000L);
        builder.addStateStore(switch ((String) arguments.get(1)) {
            case "key-value" -> Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(name), key, JSON);
            case "timestamped" -> Stores.timestampedKeyValueStoreBuilder(Stores.inMemoryKeyValueStore(name), key, JSON);
            case "window" -> Stores.windowStoreBuilder(Stores.persistentWindowStore(
                    name, Duration.ofMillis(retention), millis(keywords.get("size")), false), key, JSON);
            case "session" -> Stores.sessionStoreBuilder(Stores.persistentSessionStore(name, Duration.ofMillis(retention)), key, JSON);
            default -> throw new IllegalArgumentException(arguments.toString());
        });
        return null;
    }

    private static Materialized materialized(Map<String, Object> keywords, Serde key, Serde value) {
        String name = (String) keywords.get("store");
        return name == null ? null : Materialized.as(name).withKeySerde(key).withValueSerde(value);
    }

    // -- streams ----------------------------------------------------------------------------------------------------------

    private Node onStream(String operation, Node on, KStream<Object, Object> stream, List<Object> arguments, Map<String, Object> keywords) {
        Object first = arguments.isEmpty() ? null : arguments.get(0);
        Serde newKey = serde(keywords.get("key"), Serdes.String());
        Named as = keywords.containsKey("name") ? Named.as((String) keywords.get("name")) : null;
        switch (operation) {
            case "filter", "filter_not" -> {
                Functions.Function f = Functions.named(first);
                return new Node(operation.equals("filter")
                        ? stream.filter((k, v) -> (Boolean) f.call(k, v))
                        : stream.filterNot((k, v) -> (Boolean) f.call(k, v)), on.key);
            }
            case "map_values" -> {
                Functions.Function f = Functions.named(first);
                return new Node(as == null ? stream.mapValues((k, v) -> f.call(k, v)) : stream.mapValues((k, v) -> f.call(k, v), as), on.key);
            }
            case "flat_map_values" -> {
                Functions.Function f = Functions.named(first);
                return new Node(stream.flatMapValues((k, v) -> (Iterable<Object>) f.call(k, v)), on.key);
            }
            case "map" -> {
                Functions.Function f = Functions.named(first);
                return new Node(stream.map((k, v) -> (KeyValue<Object, Object>) f.call(k, v)), newKey);
            }
            case "flat_map" -> {
                Functions.Function f = Functions.named(first);
                return new Node(stream.flatMap((k, v) -> (Iterable<KeyValue<Object, Object>>) f.call(k, v)), newKey);
            }
            case "select_key" -> {
                Functions.Function f = Functions.named(first);
                return new Node(stream.selectKey((k, v) -> f.call(k, v)), newKey);
            }
            case "peek" -> {
                Functions.Function f = Functions.named(first);
                return new Node(stream.peek((k, v) -> f.call(k, v)), on.key);
            }
            case "foreach" -> {
                Functions.Function f = Functions.named(first);
                stream.foreach((k, v) -> f.call(k, v));
                return null;
            }
            case "merge" -> {
                KStream<Object, Object> merged = stream;
                for (Object other : arguments) {
                    merged = merged.merge((KStream<Object, Object>) named((String) other).it);
                }
                return new Node(merged, on.key);
            }
            case "split" -> {
                BranchedKStream<Object, Object> branches = stream.split();
                for (Object branch : arguments) {
                    List<Object> words = (List<Object>) branch;
                    String name = (String) words.get(0);
                    Functions.Function f = Functions.named(words.get(1));
                    branches.branch((k, v) -> (Boolean) f.call(k, v), Branched.withConsumer(s -> named.put(name, new Node(s, on.key))));
                }
                if (keywords.containsKey("default")) {
                    String name = (String) keywords.get("default");
                    branches.defaultBranch(Branched.withConsumer(s -> named.put(name, new Node(s, on.key))));
                } else {
                    branches.noDefaultBranch();
                }
                return null;
            }
            case "repartition" -> {
                Repartitioned<Object, Object> repartitioned = Repartitioned.with(on.key, JSON);
                if (keywords.containsKey("name")) {
                    repartitioned = repartitioned.withName((String) keywords.get("name"));
                }
                return new Node(stream.repartition(repartitioned), on.key);
            }
            case "to" -> {
                Serde value = serde(keywords.get("value"), JSON);
                Produced<Object, Object> produced = Produced.with(on.key, value);
                if (first instanceof List<?> dynamic) {
                    Functions.Function f = Functions.named(dynamic);
                    for (Object topic : (List<Object>) keywords.get("topics")) {
                        sinks.put((String) topic, new Serde[] {on.key, value});
                    }
                    stream.to((k, v, context) -> (String) f.call(k, v), produced);
                } else {
                    sinks.put((String) first, new Serde[] {on.key, value});
                    stream.to((String) first, produced);
                }
                return null;
            }
            case "to_table" -> {
                Materialized stored = keywords.containsKey("store") ? materialized(keywords, on.key, JSON) : Materialized.with(on.key, JSON);
                return new Node(stream.toTable(stored), on.key);
            }
            case "process" -> {
                List<String> stores = (List<String>) keywords.getOrDefault("stores", List.of());
                return new Node(stream.process(() -> Processors.named(first, stores), stores.toArray(new String[0])), on.key);
            }
            case "process_values" -> {
                List<String> stores = (List<String>) keywords.getOrDefault("stores", List.of());
                return new Node(stream.processValues(() -> Processors.valuesNamed(first, stores), stores.toArray(new String[0])), on.key);
            }
            default -> throw new IllegalArgumentException("There is no operation " + operation);
        }
    }

    // -- tables -----------------------------------------------------------------------------------------------------------

    private Node onTable(String operation, Node on, KTable<Object, Object> table, List<Object> arguments, Map<String, Object> keywords) {
        Object first = arguments.isEmpty() ? null : arguments.get(0);
        Materialized stored = materialized(keywords, on.key, JSON);
        switch (operation) {
            case "filter", "filter_not" -> {
                Functions.Function f = Functions.named(first);
                boolean keep = operation.equals("filter");
                if (stored == null) {
                    return new Node(keep ? table.filter((k, v) -> (Boolean) f.call(k, v)) : table.filterNot((k, v) -> (Boolean) f.call(k, v)), on.key);
                }
                return new Node(keep
                        ? table.filter((k, v) -> (Boolean) f.call(k, v), stored)
                        : table.filterNot((k, v) -> (Boolean) f.call(k, v), stored), on.key);
            }
            case "map_values" -> {
                Functions.Function f = Functions.named(first);
                return new Node(stored == null ? table.mapValues((k, v) -> f.call(k, v)) : table.mapValues((k, v) -> f.call(k, v), stored), on.key);
            }
            case "transform_values" -> {
                return new Node(stored == null
                        ? table.transformValues(Processors.Describe::new)
                        : table.transformValues(Processors.Describe::new, stored), on.key);
            }
            case "to_stream" -> {
                if (first == null) {
                    return new Node(table.toStream(), on.key);
                }
                Functions.Function f = Functions.named(first);
                return new Node(table.toStream((k, v) -> f.call(k, v)), Serdes.String());
            }
            case "suppress" -> {
                return new Node(table.suppress(suppressed(keywords)), on.key);
            }
            default -> throw new IllegalArgumentException("A table has no " + operation);
        }
    }

    private static Suppressed suppressed(Map<String, Object> keywords) {
        Suppressed.BufferConfig buffer = Suppressed.BufferConfig.unbounded();
        if (keywords.containsKey("max_records")) {
            buffer = Suppressed.BufferConfig.maxRecords((Long) keywords.get("max_records"));
        } else if (keywords.containsKey("max_bytes")) {
            buffer = Suppressed.BufferConfig.maxBytes((Long) keywords.get("max_bytes"));
        }
        if ("shut down".equals(keywords.get("full"))) {
            buffer = buffer.shutDownWhenFull();
        }
        return keywords.containsKey("time_limit")
                ? Suppressed.untilTimeLimit(millis(keywords.get("time_limit")), buffer)
                : Suppressed.untilWindowCloses((Suppressed.StrictBufferConfig) buffer);
    }

    // -- groups and aggregates --------------------------------------------------------------------------------------------

    private Node group(String operation, Node on, List<Object> arguments, Map<String, Object> keywords) {
        if (operation.equals("group_by_key")) {
            return new Node(((KStream<Object, Object>) on.it).groupByKey(Grouped.with(on.key, JSON)), on.key);
        }
        Serde key = serde(keywords.get("key"), Serdes.String());
        Functions.Function f = Functions.named(arguments.get(0));
        if (on.it instanceof KTable) {
            return new Node(((KTable<Object, Object>) on.it).groupBy((k, v) -> (KeyValue<Object, Object>) f.call(k, v), Grouped.with(key, JSON)), key);
        }
        return new Node(((KStream<Object, Object>) on.it).groupBy((k, v) -> f.call(k, v), Grouped.with(key, JSON)), key);
    }

    private Node windowed(Node on, List<Object> arguments, Map<String, Object> keywords) {
        Duration size = millis(arguments.get(1));
        String kind = (String) arguments.get(0);
        EmitStrategy emit = "close".equals(keywords.get("emit")) ? EmitStrategy.onWindowClose() : EmitStrategy.onWindowUpdate();
        Serde key = kind.equals("session")
                ? new WindowedSerdes.SessionWindowedSerde(on.key)
                : new WindowedSerdes.TimeWindowedSerde(on.key, size.toMillis());
        if (on.it instanceof CogroupedKStream) {
            CogroupedKStream<Object, Object> grouped = (CogroupedKStream<Object, Object>) on.it;
            return new Node(switch (kind) {
                case "session" -> grouped.windowedBy(SessionWindows.ofInactivityGapAndGrace(size, grace(keywords)));
                case "sliding" -> grouped.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(size, grace(keywords)));
                default -> grouped.windowedBy(timeWindows(kind, size, arguments, keywords));
            }, key);
        }
        KGroupedStream<Object, Object> grouped = (KGroupedStream<Object, Object>) on.it;
        Node result = new Node(switch (kind) {
            case "session" -> grouped.windowedBy(SessionWindows.ofInactivityGapAndGrace(size, grace(keywords))).emitStrategy(emit);
            case "sliding" -> grouped.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(size, grace(keywords))).emitStrategy(emit);
            default -> grouped.windowedBy(timeWindows(kind, size, arguments, keywords)).emitStrategy(emit);
        }, key);
        if ("close".equals(keywords.get("emit"))) {
            closing.add(result);
        }
        return result;
    }

    private static TimeWindows timeWindows(String kind, Duration size, List<Object> arguments, Map<String, Object> keywords) {
        TimeWindows windows = TimeWindows.ofSizeAndGrace(size, grace(keywords));
        return kind.equals("hopping") ? windows.advanceBy(millis(arguments.get(2))) : windows;
    }

    private Node cogroup(Node on, List<Object> arguments) {
        // on a group: begins; on a cogroup: ["cogroup", aggregator, other group] adds
        Functions.Function f = Functions.named(arguments.get(0));
        if (on.it instanceof CogroupedKStream) {
            KGroupedStream<Object, Object> other = (KGroupedStream<Object, Object>) named((String) arguments.get(1)).it;
            return new Node(((CogroupedKStream<Object, Object>) on.it).cogroup(other, (k, v, a) -> f.call(k, v, a)), on.key);
        }
        CogroupedKStream<Object, Object> cogrouped = ((KGroupedStream<Object, Object>) on.it).cogroup((k, v, a) -> f.call(k, v, a));
        return new Node(cogrouped, on.key);
    }

    private Node aggregate(String operation, Node on, List<Object> arguments, Map<String, Object> keywords) {
        List<Functions.Function> f = arguments.stream().map(Functions::named).toList();
        String store = (String) keywords.get("store");
        Serde plain = on.it instanceof TimeWindowedKStream || on.it instanceof SessionWindowedKStream
                || on.it instanceof TimeWindowedCogroupedKStream || on.it instanceof SessionWindowedCogroupedKStream ? null : on.key;
        Serde value = operation.equals("count") ? (Serde) Serdes.Long() : JSON;
        Materialized stored = store == null ? Materialized.with(plain, value)
                : Materialized.as(store).withKeySerde(plain).withValueSerde(value);
        if (closing.contains(on)) {
            // By default a window store keeps no more than size and grace, so that a leap of stream time hides closed windows
            // before they are emitted. What is compared here is which windows close, so they are kept.
            stored = stored.withRetention(KEPT);
        }
        Object grouped = on.it;
        KTable<?, ?> table;
        if (grouped instanceof KGroupedStream g) {
            table = switch (operation) {
                case "count" -> g.count(stored);
                case "reduce" -> g.reduce((a, v) -> f.get(0).call(a, v), stored);
                default -> g.aggregate(() -> f.get(0).call(), (k, v, a) -> f.get(1).call(k, v, a), stored);
            };
        } else if (grouped instanceof KGroupedTable g) {
            table = switch (operation) {
                case "count" -> g.count(stored);
                case "reduce" -> g.reduce((a, v) -> f.get(0).call(a, v), (a, v) -> f.get(1).call(a, v), stored);
                default -> g.aggregate(() -> f.get(0).call(), (k, v, a) -> f.get(1).call(k, v, a), (k, v, a) -> f.get(2).call(k, v, a), stored);
            };
        } else if (grouped instanceof TimeWindowedKStream g) {
            table = switch (operation) {
                case "count" -> g.count(stored);
                case "reduce" -> g.reduce((a, v) -> f.get(0).call(a, v), stored);
                default -> g.aggregate(() -> f.get(0).call(), (k, v, a) -> f.get(1).call(k, v, a), stored);
            };
        } else if (grouped instanceof SessionWindowedKStream g) {
            table = switch (operation) {
                case "count" -> g.count(stored);
                case "reduce" -> g.reduce((a, v) -> f.get(0).call(a, v), stored);
                default -> g.aggregate(() -> f.get(0).call(), (k, v, a) -> f.get(1).call(k, v, a), (k, a, b) -> f.get(2).call(k, a, b), stored);
            };
        } else if (grouped instanceof CogroupedKStream g) {
            table = g.aggregate(() -> f.get(0).call(), stored);
        } else if (grouped instanceof TimeWindowedCogroupedKStream g) {
            table = g.aggregate(() -> f.get(0).call(), stored);
        } else if (grouped instanceof SessionWindowedCogroupedKStream g) {
            table = g.aggregate(() -> f.get(0).call(), (k, a, b) -> f.get(1).call(k, a, b), stored);
        } else {
            throw new IllegalArgumentException(operation + " wants a group, not a " + grouped.getClass().getSimpleName());
        }
        return new Node(table, on.key);
    }

    // -- joins ------------------------------------------------------------------------------------------------------------

    private Node join(String operation, Node on, List<Object> arguments, Map<String, Object> keywords) {
        Object other = named((String) arguments.get(0)).it;
        Functions.Function f = Functions.named(arguments.get(1));
        boolean keyed = Functions.isKeyed(arguments.get(1));
        ValueJoinerWithKey<Object, Object, Object, Object> joiner = (k, l, r) -> keyed ? f.call(k, l, r) : f.call(l, r);
        ValueJoiner<Object, Object, Object> plain = (l, r) -> f.call(l, r);
        if (on.it instanceof KTable table) {
            return new Node(joinTables(operation, table, (KTable) other, plain, on, keywords), on.key);
        }
        KStream<Object, Object> stream = (KStream<Object, Object>) on.it;
        boolean left = operation.equals("left_join");
        if (other instanceof GlobalKTable global) {
            Functions.Function select = Functions.named(keywords.get("select"));
            GlobalKTable<Object, Object> right = global;
            return new Node(left
                    ? stream.leftJoin(right, (k, v) -> select.call(k, v), joiner)
                    : stream.join(right, (k, v) -> select.call(k, v), joiner), on.key);
        }
        if (other instanceof KTable right) {
            Joined<Object, Object, Object> joined = Joined.with(on.key, JSON, JSON);
            return new Node(left ? stream.leftJoin((KTable<Object, Object>) right, joiner, joined) : stream.join((KTable<Object, Object>) right, joiner, joined), on.key);
        }
        JoinWindows windows = JoinWindows.ofTimeDifferenceAndGrace(millis(keywords.get("within")), grace(keywords));
        if (keywords.containsKey("before")) {
            windows = windows.before(millis(keywords.get("before")));
        }
        if (keywords.containsKey("after")) {
            windows = windows.after(millis(keywords.get("after")));
        }
        StreamJoined<Object, Object, Object> joined = StreamJoined.with(on.key, JSON, JSON);
        KStream<Object, Object> right = (KStream<Object, Object>) other;
        return new Node(switch (operation) {
            case "join" -> stream.join(right, joiner, windows, joined);
            case "left_join" -> stream.leftJoin(right, joiner, windows, joined);
            default -> stream.outerJoin(right, joiner, windows, joined);
        }, on.key);
    }

    private static KTable<Object, Object> joinTables(String operation, KTable<Object, Object> left, KTable<Object, Object> right,
            ValueJoiner<Object, Object, Object> joiner, Node on, Map<String, Object> keywords) {
        Materialized<Object, Object, KeyValueStore<Bytes, byte[]>> stored = keywords.containsKey("store")
                ? materialized(keywords, on.key, JSON) : Materialized.with(on.key, JSON);
        boolean isStored = keywords.containsKey("store");
        if (keywords.containsKey("foreign_key")) {
            Functions.Function f = Functions.named(keywords.get("foreign_key"));
            java.util.function.BiFunction<Object, Object, Object> extractor = (k, v) -> f.call(k, v);
            return operation.equals("left_join") ? left.leftJoin(right, extractor, joiner, stored) : left.join(right, extractor, joiner, stored);
        }
        if (!isStored) {
            return switch (operation) {
                case "join" -> left.join(right, joiner);
                case "left_join" -> left.leftJoin(right, joiner);
                default -> left.outerJoin(right, joiner);
            };
        }
        return switch (operation) {
            case "join" -> left.join(right, joiner, stored);
            case "left_join" -> left.leftJoin(right, joiner, stored);
            default -> left.outerJoin(right, joiner, stored);
        };
    }
}
