import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.DeserializationFeature;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.test.TestRecord;

/**
 * Runs golden cases on Kafka Streams' own TopologyTestDriver. Reads {"name": {"topology": ..., "steps": ...}} from one file
 * and writes {"name": [what each step put out]} to another. Every update is passed on (no record caches), and what Kafka
 * Streams would otherwise look for once a second of wall-clock time (closed windows, outer joins without a partner) it
 * looks for after every record: results must not depend on how fast the test runs.
 */
@SuppressWarnings({"unchecked", "rawtypes"})
public final class Golden {
    private static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.USE_LONG_FOR_INTS);

    public static void main(String[] arguments) throws Exception {
        Map<String, Map<String, Object>> cases = JSON.readValue(new File(arguments[0]), Map.class);
        Map<String, Object> results = new LinkedHashMap<>();
        for (Map.Entry<String, Map<String, Object>> entry : cases.entrySet()) {
            try {
                results.put(entry.getKey(), run(entry.getKey(), entry.getValue()));
            } catch (Exception error) {
                System.err.println("The case " + entry.getKey() + " cannot be run.");
                error.printStackTrace();
                System.exit(1);
            }
        }
        JSON.writeValue(new File(arguments[1]), results);
    }

    private static Properties configuration() {
        Properties properties = new Properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "golden");
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, JsonSerde.class);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, System.getProperty("java.io.tmpdir") + "/golden-" + ProcessHandle.current().pid());
        properties.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_OUTER_JOIN_SPURIOUS_RESULTS_FIX, 0L);
        properties.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_WINDOWED_AGGREGATION, 0L);
        return properties;
    }

    private static List<Object> run(String name, Map<String, Object> goldenCase) {
        Topologies topology = new Topologies((List<List<Object>>) goldenCase.get("topology"));
        List<Object> outputs = new ArrayList<>();
        TopologyTestDriver driver = new TopologyTestDriver(topology.builder.build(), configuration(), Instant.ofEpochMilli(0));
        try {
            Map<String, TestOutputTopic<Object, Object>> sinks = new LinkedHashMap<>();
            topology.sinks.forEach((topic, serdes) -> sinks.put(topic, driver.createOutputTopic(topic, serdes[0].deserializer(), serdes[1].deserializer())));
            for (Map<String, Object> step : (List<Map<String, Object>>) goldenCase.get("steps")) {
                Map<String, Object> output = new LinkedHashMap<>();
                try {
                    perform(step, driver, topology);
                } catch (Exception error) {
                    System.err.println(name + " fails: " + error.getMessage());
                    output.put("fails", true);
                }
                sinks.forEach((topic, sink) -> {
                    List<Object> records = sink.readRecordsToList().stream().map(record -> (Object) row(record)).toList();
                    if (!records.isEmpty()) {
                        output.put(topic, records);
                    }
                });
                outputs.add(output);
                if (output.containsKey("fails")) {
                    return outputs;
                }
            }
            return outputs;
        } finally {
            try {
                driver.close();
            } catch (Exception afterFailure) {
                // A task that has failed may refuse an orderly end; its case already says that it fails.
            }
        }
    }

    private static void perform(Map<String, Object> step, TopologyTestDriver driver, Topologies topology) {
        if (step.containsKey("advance")) {
            driver.advanceWallClockTime(Duration.ofMillis((Long) step.get("advance")));
            return;
        }
        String topic = (String) step.get("topic");
        Serde key = topology.keysOfSources.get(topic);
        Serde value = topology.valuesOfSources.get(topic);
        TestInputTopic<Object, Object> input = driver.createInputTopic(topic, key.serializer(), value.serializer());
        for (List<Object> record : (List<List<Object>>) step.get("records")) {
            RecordHeaders headers = new RecordHeaders();
            if (record.size() > 3) {
                ((Map<String, String>) record.get(3)).forEach((name, text) -> headers.add(name, text.getBytes(StandardCharsets.UTF_8)));
            }
            input.pipeInput(new TestRecord<>(record.get(0), record.get(1), headers, Instant.ofEpochMilli((Long) record.get(2))));
        }
    }

    private static List<Object> row(TestRecord<Object, Object> record) {
        List<Object> row = new ArrayList<>();
        Object key = record.key();
        if (key instanceof Windowed<?> windowed) {
            Map<String, Object> parts = new LinkedHashMap<>();
            parts.put("key", windowed.key());
            parts.put("window", List.of(windowed.window().start(), windowed.window().end()));
            row.add(parts);
        } else {
            row.add(key);
        }
        row.add(record.value());
        row.add(record.timestamp());
        Map<String, String> headers = new LinkedHashMap<>();
        for (Header header : record.headers()) {
            headers.put(header.key(), new String(header.value(), StandardCharsets.UTF_8));
        }
        if (!headers.isEmpty()) {
            row.add(headers);
        }
        return row;
    }
}
