import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.ValueTransformerWithKey;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;

/**
 * The processors that golden cases choose by name; tests/golden/processors.py holds the same ones in Python. The store of
 * a processor is the first one that the case names beside it.
 */
final class Processors {
    private static final Map<String, Supplier<Base>> ALL = new HashMap<>();
    private static final Map<String, Supplier<ValuesBase>> VALUES = new HashMap<>();

    private Processors() {}

    static Processor<Object, Object, Object, Object> named(Object choice, List<String> stores) {
        List<Object> words = choice instanceof List<?> list ? new ArrayList<>(list) : List.of(choice);
        Base processor = ALL.get((String) words.get(0)).get();
        processor.parameters = words.subList(1, words.size());
        processor.store = stores.isEmpty() ? null : stores.get(0);
        return processor;
    }

    static FixedKeyProcessor<Object, Object, Object> valuesNamed(Object choice, List<String> stores) {
        ValuesBase processor = VALUES.get((String) choice).get();
        processor.store = stores.isEmpty() ? null : stores.get(0);
        return processor;
    }

    abstract static class Base extends ContextualProcessor<Object, Object, Object, Object> {
        List<Object> parameters = List.of();
        String store;

        <S extends org.apache.kafka.streams.processor.StateStore> S store() {
            return context().getStateStore(store);
        }

        void forward(Object key, Object value, long timestamp) {
            context().forward(new Record<>(key, value, timestamp));
        }

        long parameter(int index) {
            return (Long) parameters.get(index);
        }
    }

    abstract static class ValuesBase extends ContextualFixedKeyProcessor<Object, Object, Object> {
        String store;
    }

    private static Map<String, Object> object(Object... pairs) {
        Map<String, Object> result = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            result.put((String) pairs[i], pairs[i + 1]);
        }
        return result;
    }

    /** A sum per key in a key-value store; a null value deletes the key. */
    static class RunningTotal extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            KeyValueStore<Object, Object> totals = store();
            if (record.value() == null) {
                Object old = totals.delete(record.key());
                context().forward(record.withValue(object("deleted", old)));
                return;
            }
            Object old = totals.get(record.key());
            Object total = (old == null ? 0L : (Long) old) + (Long) record.value();
            totals.put(record.key(), total);
            context().forward(record.withValue(total));
        }
    }

    /** Only the first record of a key goes on. */
    static class Dedupe extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            KeyValueStore<Object, Object> seen = store();
            if (seen.putIfAbsent(record.key(), 1L) == null) {
                context().forward(record);
            }
        }
    }

    /** Counts per key; a punctuator forwards all counts (with the time it is given) and clears them. */
    static class CountUntilTick extends Base {
        private final PunctuationType type;

        CountUntilTick(PunctuationType type) {
            this.type = type;
        }

        @Override
        public void init(ProcessorContext<Object, Object> context) {
            super.init(context);
            context.schedule(Duration.ofMillis(parameter(0)), type, this::tick);
        }

        private void tick(long now) {
            KeyValueStore<Object, Object> counts = store();
            List<KeyValue<Object, Object>> rows = new ArrayList<>();
            try (KeyValueIterator<Object, Object> all = counts.all()) {
                all.forEachRemaining(rows::add);
            }
            for (KeyValue<Object, Object> row : rows) {
                forward(row.key, row.value, now);
                counts.delete(row.key);
            }
        }

        @Override
        public void process(Record<Object, Object> record) {
            KeyValueStore<Object, Object> counts = store();
            Object old = counts.get(record.key());
            counts.put(record.key(), old == null ? 1L : (Long) old + 1);
        }
    }

    /** Forwards every tick by itself as key "tick", and records as they come; stops ticking after so many (0: never). */
    static class Ticks extends Base {
        private final PunctuationType type;
        private Cancellable schedule;
        private long ticks;

        Ticks(PunctuationType type) {
            this.type = type;
        }

        @Override
        public void init(ProcessorContext<Object, Object> context) {
            super.init(context);
            schedule = context.schedule(Duration.ofMillis(parameter(0)), type, this::tick);
        }

        private void tick(long now) {
            forward("tick", ++ticks, now);
            if (ticks == parameter(1)) {
                schedule.cancel();
            }
        }

        @Override
        public void process(Record<Object, Object> record) {
            context().forward(record);
        }
    }

    /** Where the record came from, and what the clock of the task says. */
    static class Metadata extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            RecordMetadata metadata = context().recordMetadata().orElseThrow();
            context().forward(record.withValue(object(
                    "topic", metadata.topic(),
                    "partition", (long) metadata.partition(),
                    "offset", metadata.offset(),
                    "stream_time", context().currentStreamTimeMs())));
        }
    }

    /** Moves a record by so many milliseconds. */
    static class Shift extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            context().forward(record.withTimestamp(record.timestamp() + parameter(0)));
        }
    }

    /** Adds a header, and forwards the record twice, once under another key. */
    static class AddHeader extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            record.headers().add("seen", "yes".getBytes());
            context().forward(record);
            context().forward(record.withKey(record.key() + "-again"));
        }
    }

    /** Sends even numbers to the child "even" and the others to the child "odd". */
    static class Route extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            context().forward(record, (Long) record.value() % 2 == 0 ? "even" : "odd");
        }
    }

    /** Obeys the value: put, or one of the store's scans, whose rows it forwards as lists. */
    static class Scan extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            KeyValueStore<Object, Object> rows = store();
            String key = (String) record.key();
            if (!(record.value() instanceof List<?> command)) {
                rows.put(key, record.value());
                return;
            }
            KeyValueIterator<Object, Object> found = switch ((String) command.get(0)) {
                case "all" -> rows.all();
                case "reverse_all" -> rows.reverseAll();
                case "range" -> rows.range(command.get(1), command.get(2));
                case "reverse_range" -> rows.reverseRange(command.get(1), command.get(2));
                case "prefix" -> rows.prefixScan((String) command.get(1), new StringSerializer());
                default -> throw new IllegalArgumentException(command.toString());
            };
            List<Object> list = new ArrayList<>();
            try (found) {
                found.forEachRemaining(row -> list.add(List.of(row.key, row.value)));
            }
            context().forward(record.withValue(list));
        }
    }

    /** Keeps value and timestamp, forwards what was there before. */
    static class Previous extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            TimestampedKeyValueStore<Object, Object> rows = store();
            ValueAndTimestamp<Object> old = rows.get(record.key());
            rows.put(record.key(), ValueAndTimestamp.make(record.value(), record.timestamp()));
            context().forward(record.withValue(old == null ? null : object("value", old.value(), "timestamp", old.timestamp())));
        }
    }

    /** Keeps values in a window store at their own time, forwards those of the last so many milliseconds. */
    static class Recent extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            WindowStore<Object, Object> rows = store();
            rows.put(record.key(), record.value(), record.timestamp());
            List<Object> list = new ArrayList<>();
            try (WindowStoreIterator<Object> found =
                    rows.fetch(record.key(), record.timestamp() - parameter(0), record.timestamp())) {
                found.forEachRemaining(row -> list.add(List.of(row.key, row.value)));
            }
            context().forward(record.withValue(list));
        }
    }

    /** All keys of a window store between two times, or all of it, sorted: Kafka promises no order between keys. */
    static class WindowScan extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            WindowStore<Object, Object> rows = store();
            if (!(record.value() instanceof List<?> command)) {
                rows.put(record.key(), record.value(), record.timestamp());
                return;
            }
            KeyValueIterator<Windowed<Object>, Object> found = switch ((String) command.get(0)) {
                case "all" -> rows.all();
                case "backward_all" -> rows.backwardAll();
                case "fetch_all" -> rows.fetchAll((Long) command.get(1), (Long) command.get(2));
                default -> throw new IllegalArgumentException(command.toString());
            };
            List<Object> list = new ArrayList<>();
            try (found) {
                found.forEachRemaining(row -> list.add(List.of(row.key.key(), row.key.window().start(), row.value)));
            }
            list.sort(Comparator.comparing(Object::toString));
            context().forward(record.withValue(list));
        }
    }

    /** Puts a session [length, value] that ends at the record's time, or removes it; forwards all sessions of the key. */
    static class Sessions extends Base {
        @Override
        public void process(Record<Object, Object> record) {
            SessionStore<Object, Object> rows = store();
            List<?> session = (List<?>) record.value();
            org.apache.kafka.streams.kstream.internals.SessionWindow window =
                    new org.apache.kafka.streams.kstream.internals.SessionWindow(
                            record.timestamp() - (Long) session.get(0), record.timestamp());
            if (session.get(1) == null) {
                rows.remove(new Windowed<>(record.key(), window));
            } else {
                rows.put(new Windowed<>(record.key(), window), session.get(1));
            }
            List<Object> list = new ArrayList<>();
            try (KeyValueIterator<Windowed<Object>, Object> found = rows.fetch(record.key())) {
                found.forEachRemaining(
                        row -> list.add(List.of(row.key.window().start(), row.key.window().end(), row.value)));
            }
            context().forward(record.withValue(list));
        }
    }

    /** process_values: the number of the record within its key. */
    static class Numbered extends ValuesBase {
        @Override
        public void process(FixedKeyRecord<Object, Object> record) {
            KeyValueStore<Object, Object> counts = context().getStateStore(store);
            Object old = counts.get(record.key());
            Object count = old == null ? 1L : (Long) old + 1;
            counts.put(record.key(), count);
            context().forward(record.withValue(count + ":" + Functions.text(record.value())));
        }
    }

    /** process_values: none, one or two records out of one. */
    static class Repeat extends ValuesBase {
        @Override
        public void process(FixedKeyRecord<Object, Object> record) {
            for (long i = 0; i < (Long) record.value(); i++) {
                context().forward(record.withValue(i));
            }
        }
    }

    /** transform_values of a table: key and value as text; a removed value stays removed. */
    static final class Describe implements ValueTransformerWithKey<Object, Object, Object> {
        @Override
        public void init(org.apache.kafka.streams.processor.ProcessorContext context) {}

        @Override
        public Object transform(Object key, Object value) {
            return value == null ? null : key + "=" + value;
        }

        @Override
        public void close() {}
    }

    static {
        ALL.put("running_total", RunningTotal::new);
        ALL.put("dedupe", Dedupe::new);
        ALL.put("count_until_stream_tick", () -> new CountUntilTick(PunctuationType.STREAM_TIME));
        ALL.put("count_until_wall_tick", () -> new CountUntilTick(PunctuationType.WALL_CLOCK_TIME));
        ALL.put("stream_ticks", () -> new Ticks(PunctuationType.STREAM_TIME));
        ALL.put("wall_ticks", () -> new Ticks(PunctuationType.WALL_CLOCK_TIME));
        ALL.put("metadata", Metadata::new);
        ALL.put("shift", Shift::new);
        ALL.put("add_header", AddHeader::new);
        ALL.put("route", Route::new);
        ALL.put("scan", Scan::new);
        ALL.put("previous", Previous::new);
        ALL.put("recent", Recent::new);
        ALL.put("window_scan", WindowScan::new);
        ALL.put("sessions", Sessions::new);
        VALUES.put("numbered", Numbered::new);
        VALUES.put("repeat", Repeat::new);
    }
}
