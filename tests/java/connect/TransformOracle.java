import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Applies Apache Kafka's transforms: a case in a line of JSON on standard input, what becomes of its record in a line of
 * JSON on standard output. Keys, values and headers are texts of the JSON converter, with their schema ("schema": true)
 * or without.
 */
public class TransformOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonConverter WITH_SCHEMA = converter(true);
    private static final JsonConverter WITHOUT_SCHEMA = converter(false);

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder output = new StringBuilder();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer(JSON.readTree(line), answer);
            } catch (Throwable error) {
                answer.put("error", error.getClass().getSimpleName() + ": " + error.getMessage());
            }
            output.append(JSON.writeValueAsString(answer)).append('\n');
        }
        System.out.write(output.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void answer(JsonNode request, ObjectNode answer) throws Exception {
        Map<String, String> config = new HashMap<>();
        request.get("config").fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
        Object plugin = Class.forName(request.get("class").asText()).getDeclaredConstructor().newInstance();
        if (request.has("describe")) {
            describe(plugin instanceof Predicate ? ((Predicate) plugin).config() : ((Transformation) plugin).config(), answer);
            return;
        }
        if (plugin instanceof Predicate) {
            Predicate predicate = (Predicate) plugin;
            predicate.config().parse(config);
            predicate.configure(config);
            if (!request.has("key")) {
                return;
            }
            answer.put("test", predicate.test(record(request)));
            return;
        }
        Transformation transform = (Transformation) plugin;
        // As the framework does: the definition is asked first, and `configure` is given what was written.
        transform.config().parse(config);
        transform.configure(config);
        if (!request.has("key")) {
            return;
        }
        ConnectRecord made = transform.apply(record(request));
        if (made == null) {
            answer.put("dropped", true);
            return;
        }
        answer.put("topic", made.topic());
        answer.put("timestamp", made.timestamp());
        put(answer, "key", made.keySchema() == null ? null : made.keySchema(), made.key());
        put(answer, "value", made.valueSchema(), made.value());
        ArrayNode headers = answer.putArray("headers");
        for (Object each : made.headers()) {
            Header header = (Header) each;
            ObjectNode shown = headers.addObject();
            shown.put("name", header.key());
            put(shown, "value", header.schema(), header.value());
        }
    }

    private static void describe(ConfigDef definition, ObjectNode answer) {
        for (ConfigDef.ConfigKey key : definition.configKeys().values()) {
            Object fallback = key.defaultValue;
            ObjectNode shown = answer.putObject(key.name);
            shown.put("type", key.type.name());
            shown.put("importance", key.importance.name());
            shown.put("required", fallback == ConfigDef.NO_DEFAULT_VALUE);
            boolean has = fallback != ConfigDef.NO_DEFAULT_VALUE;
            shown.put("default", has ? ConfigDef.convertToString(fallback, key.type) : null);
        }
    }

    private static ConnectRecord<?> record(JsonNode request) {
        SchemaAndValue key = read(request.get("key"));
        SchemaAndValue value = read(request.get("value"));
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : request.get("headers")) {
            headers.add(header.get("name").asText(), read(header.get("value")));
        }
        Long timestamp = request.get("timestamp").isNull() ? null : request.get("timestamp").asLong();
        String topic = request.get("topic").asText();
        if (request.get("source").asBoolean()) {
            Integer partition = request.get("partition").isNull() ? null : request.get("partition").asInt();
            return new SourceRecord(Map.of("file", "a"), Map.of("line", 7), topic, partition, key.schema(), key.value(),
                value.schema(), value.value(), timestamp, headers);
        }
        return new SinkRecord(topic, request.get("partition").asInt(), key.schema(), key.value(), value.schema(),
            value.value(), request.get("offset").asLong(), timestamp, TimestampType.CREATE_TIME, headers);
    }

    private static SchemaAndValue read(JsonNode part) {
        JsonConverter converter = part.get("schema").asBoolean() ? WITH_SCHEMA : WITHOUT_SCHEMA;
        return converter.toConnectData("t", part.get("text").asText().getBytes(StandardCharsets.UTF_8));
    }

    private static void put(ObjectNode answer, String name, org.apache.kafka.connect.data.Schema schema, Object value) {
        ObjectNode part = answer.putObject(name);
        part.put("schema", schema != null);
        byte[] bytes = (schema == null ? WITHOUT_SCHEMA : WITH_SCHEMA).fromConnectData("t", schema, value);
        part.put("text", bytes == null ? "null" : new String(bytes, StandardCharsets.UTF_8));
    }

    private static JsonConverter converter(boolean schemas) {
        JsonConverter converter = new JsonConverter();
        Map<String, Object> config = Map.of("schemas.enable", schemas, "replace.null.with.default", false);
        converter.configure(config, false);
        return converter;
    }

}
