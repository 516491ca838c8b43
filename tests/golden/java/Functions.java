import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;

/**
 * The functions that golden cases choose by name; tests/golden/functions.py holds the same ones in Python. A case writes
 * "name" or ["name", parameter, ...]. What the arguments are depends on the operator: (key, value) for predicates and
 * mappers, (aggregate, value) for reducers, (key, value, aggregate) for aggregators, (left, right) for joiners,
 * (key, left, right) for mergers, (key, value, record timestamp) for timestamp extractors.
 */
final class Functions {
    interface Function {
        Object call(Object... arguments);
    }

    private interface Factory {
        Function with(List<Object> parameters);
    }

    private static final Map<String, Factory> ALL = new HashMap<>();

    private Functions() {}

    static Function named(Object choice) {
        List<Object> words = choice instanceof List<?> list ? new ArrayList<>(list) : List.of(choice);
        Factory factory = ALL.get((String) words.get(0));
        if (factory == null) {
            throw new IllegalArgumentException("There is no function " + words.get(0));
        }
        return factory.with(words.subList(1, words.size()));
    }

    /** Joiners that also want the key, in front. */
    static boolean isKeyed(Object choice) {
        return "keyed_pair".equals(choice);
    }

    static String text(Object value) {
        return String.valueOf(value);
    }

    private static long number(Object value) {
        return (Long) value;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    private static Object field(Object value, Object name) {
        return value == null ? null : object(value).get((String) name);
    }

    private static List<Object> list(Object value) {
        return new ArrayList<>((List<?>) value);
    }

    private static void plain(String name, Function function) {
        ALL.put(name, parameters -> function);
    }

    static {
        // predicates of (key, value)
        plain("even", a -> a[1] != null && number(a[1]) % 2 == 0);
        plain("positive", a -> a[1] != null && number(a[1]) > 0);
        plain("value_is_null", a -> a[1] == null);
        plain("value_is_present", a -> a[1] != null);
        ALL.put("key_is", p -> a -> p.get(0).equals(a[0]));
        ALL.put("at_least", p -> a -> a[1] != null && number(a[1]) >= number(p.get(0)));

        // (key, value) -> value; also key selectors
        plain("double", a -> a[1] == null ? null : number(a[1]) * 2);
        plain("upper", a -> a[1] == null ? null : ((String) a[1]).toUpperCase());
        plain("length", a -> a[1] == null ? null : (long) ((String) a[1]).length());
        plain("key_and_value", a -> text(a[0]) + ":" + text(a[1]));
        plain("to_null", a -> null);
        plain("null_if_odd", a -> a[1] == null || number(a[1]) % 2 != 0 ? null : a[1]);
        plain("text_or_none", a -> text(a[1]));
        plain("key", a -> a[0]);
        plain("value", a -> a[1]);
        plain("upper_key", a -> a[0] == null ? null : ((String) a[0]).toUpperCase());
        plain("first_letter", a -> a[1] == null ? null : ((String) a[1]).substring(0, 1));
        plain("first_letter_of_key", a -> ((String) a[0]).substring(0, 1));
        plain("window_text", a -> {
            Windowed<?> key = (Windowed<?>) a[0];
            return key.key() + "@" + key.window().start() + "/" + key.window().end();
        });
        plain("window_key", a -> ((Windowed<?>) a[0]).key());
        ALL.put("field", p -> a -> field(a[1], p.get(0)));

        // (key, value) -> (key, value)
        plain("swap", a -> KeyValue.pair(a[1], a[0]));
        ALL.put("by_field", p -> a -> KeyValue.pair(field(a[1], p.get(0)), field(a[1], p.get(1))));
        plain("in_one_group", a -> KeyValue.pair("all", a[1]));
        plain("by_value", a -> KeyValue.pair(text(a[1]), a[1]));
        plain("odd_to_null_key", a -> KeyValue.pair(number(a[1]) % 2 == 0 ? a[0] : null, a[1]));

        // (key, value) -> several
        plain("words", a -> a[1] == null || ((String) a[1]).isEmpty() ? List.of() : List.of(((String) a[1]).split(" ")));
        plain("words_as_keys", a -> {
            List<KeyValue<Object, Object>> pairs = new ArrayList<>();
            for (String word : ((String) a[1]).split(" ")) {
                pairs.add(KeyValue.pair(word, (long) word.length()));
            }
            return pairs;
        });
        plain("twice", a -> List.of(KeyValue.pair(a[0], a[1]), KeyValue.pair(a[0], a[1])));
        plain("nothing", a -> List.of());

        // reducers of (aggregate, value)
        plain("sum", a -> number(a[0]) + number(a[1]));
        plain("difference", a -> number(a[0]) - number(a[1]));
        plain("largest", a -> Math.max(number(a[0]), number(a[1])));
        plain("latest", a -> a[1]);
        plain("concat", a -> text(a[0]) + text(a[1]));
        plain("null_if_negative", a -> number(a[1]) < 0 ? null : number(a[0]) + number(a[1]));

        // initializers
        plain("zero", a -> 0L);
        plain("hundred", a -> 100L);
        plain("empty_text", a -> "");
        plain("empty_list", a -> new ArrayList<>());
        plain("no_value", a -> null);

        // aggregators of (key, value, aggregate), and subtractors
        plain("add", a -> number(a[2]) + number(a[1]));
        plain("subtract", a -> number(a[2]) - number(a[1]));
        plain("add_length", a -> number(a[2]) + ((String) a[1]).length());
        plain("add_from_null", a -> (a[2] == null ? 0 : number(a[2])) + number(a[1]));
        plain("add_or_delete", a -> number(a[1]) < 0 ? null : (a[2] == null ? 0 : number(a[2])) + number(a[1]));
        plain("append", a -> {
            List<Object> values = list(a[2]);
            values.add(a[1]);
            return values;
        });
        plain("remove", a -> {
            List<Object> values = list(a[2]);
            values.remove(a[1]);
            return values;
        });
        plain("append_text", a -> text(a[2]) + text(a[1]));
        plain("append_mark", a -> text(a[2]) + "+" + text(a[1]));
        plain("remove_mark", a -> text(a[2]) + "-" + text(a[1]));
        plain("tag_left", a -> text(a[2]) + "L" + text(a[1]));
        plain("tag_right", a -> text(a[2]) + "R" + text(a[1]));
        plain("tag_third", a -> text(a[2]) + "T" + text(a[1]));

        // mergers of (key, left, right)
        plain("merge_sum", a -> number(a[1]) + number(a[2]));
        plain("merge_lists", a -> {
            List<Object> values = list(a[1]);
            values.addAll(list(a[2]));
            return values;
        });
        plain("merge_text", a -> text(a[1]) + text(a[2]));

        // joiners
        plain("pair", a -> text(a[0]) + "+" + text(a[1]));
        plain("keyed_pair", a -> text(a[0]) + ":" + text(a[1]) + "+" + text(a[2]));
        plain("null_pair", a -> null);
        plain("product", a -> a[0] == null || a[1] == null ? null : number(a[0]) * number(a[1]));
        ALL.put("enrich", p -> a -> {
            Map<String, Object> joined = new LinkedHashMap<>(object(a[0]));
            joined.put((String) p.get(0), a[1]);
            return joined;
        });

        // timestamp extractors of (key, value, record timestamp)
        ALL.put("time_field", p -> a -> {
            Object time = field(a[1], p.get(0));
            return time == null ? a[2] : time;
        });
        plain("value_as_time", a -> a[1] == null ? a[2] : a[1]);

        // (key, value) -> topic
        plain("topic_by_sign", a -> number(a[1]) < 0 ? "out-negative" : "out-positive");
    }
}
