import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache Kafka's Java client for the conformance suite: one long-lived process that reads a JSON request a line and answers with a JSON line.
 * A request has "op", the number of the producer, consumer or admin it is for in "on", and arguments; an answer has "result" or "error" (the
 * protocol's code) and "message". Bytes travel as Base64. One request at a time: a consumer is polled often and shortly, as its users do.
 */
public class Harness {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private final Map<Integer, AutoCloseable> opened = new HashMap<>();
    private int next = 0;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Harness harness = new Harness();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("result", JSON.valueToTree(harness.serve(JSON.readTree(line))));
            } catch (Exception failure) {
                Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
                answer.put("error", Errors.forException(cause).code());
                answer.put("message", cause.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        System.exit(0);
    }

    private Object serve(JsonNode request) throws Exception {
        String operation = request.get("op").asText();
        if (operation.startsWith("new ")) {
            Properties properties = new Properties();
            request.get("config").fields().forEachRemaining(field -> properties.put(field.getKey(), field.getValue().asText()));
            AutoCloseable made = switch (operation) {
                case "new producer" -> newProducer(properties);
                case "new consumer" -> new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
                case "new admin" -> Admin.create(properties);
                default -> throw new IllegalArgumentException(operation);
            };
            opened.put(++next, made);
            return next;
        }
        int number = request.get("on").asInt();
        AutoCloseable target = opened.get(number);
        if (operation.equals("close")) {
            opened.remove(number);
            if (target instanceof KafkaProducer<?, ?> producer) {
                producer.close(Duration.ofSeconds(5));
            } else {
                target.close();
            }
            return null;
        }
        if (target instanceof KafkaProducer<?, ?>) {
            return produce(operation, request, cast(target));
        }
        if (target instanceof KafkaConsumer<?, ?>) {
            return consume(operation, request, cast(target));
        }
        return administer(operation, request, (Admin) target);
    }

    @SuppressWarnings("unchecked")
    private static <T> T cast(Object value) {
        return (T) value;
    }

    private static KafkaProducer<byte[], byte[]> newProducer(Properties properties) {
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
        if (properties.containsKey("transactional.id")) {
            try {
                producer.initTransactions();
            } catch (RuntimeException failure) {
                producer.close(Duration.ZERO);
                throw failure;
            }
        }
        return producer;
    }

    private Object produce(String operation, JsonNode request, KafkaProducer<byte[], byte[]> producer) throws Exception {
        switch (operation) {
            case "send" -> {
                List<Future<RecordMetadata>> sent = new ArrayList<>();
                for (JsonNode item : request.get("records")) {
                    ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                        item.get("topic").asText(),
                        item.get("partition").isNull() ? null : item.get("partition").asInt(),
                        item.get("timestamp").isNull() ? null : item.get("timestamp").asLong(),
                        bytes(item.get("key")),
                        bytes(item.get("value")));
                    for (JsonNode header : item.get("headers")) {
                        record.headers().add(header.get(0).asText(), bytes(header.get(1)));
                    }
                    sent.add(producer.send(record));
                }
                producer.flush();
                List<long[]> places = new ArrayList<>();
                for (Future<RecordMetadata> future : sent) {
                    RecordMetadata metadata = future.get();
                    places.add(new long[] {metadata.partition(), metadata.offset()});
                }
                return places;
            }
            case "begin" -> producer.beginTransaction();
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            case "send offsets" -> {
                KafkaConsumer<byte[], byte[]> consumer = cast(opened.get(request.get("consumer").asInt()));
                producer.sendOffsetsToTransaction(offsets(request.get("offsets")), consumer.groupMetadata());
            }
            default -> throw new IllegalArgumentException(operation);
        }
        return null;
    }

    private Object consume(String operation, JsonNode request, KafkaConsumer<byte[], byte[]> consumer) {
        switch (operation) {
            case "subscribe" -> {
                List<String> topics = new ArrayList<>();
                request.get("topics").forEach(topic -> topics.add(topic.asText()));
                consumer.subscribe(topics);
            }
            case "assign" -> {
                List<TopicPartition> partitions = new ArrayList<>();
                request.get("partitions").forEach(item -> partitions.add(partition(item)));
                consumer.assign(partitions);
            }
            case "poll" -> {
                ArrayNode messages = JSON.createArrayNode();
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(request.get("ms").asLong()))) {
                    ObjectNode message = messages.addObject();
                    message.put("topic", record.topic()).put("partition", record.partition()).put("offset", record.offset());
                    message.put("timestamp", record.timestamp()).put("key", text(record.key())).put("value", text(record.value()));
                    ArrayNode headers = message.putArray("headers");
                    for (Header header : record.headers()) {
                        headers.addArray().add(header.key()).add(text(header.value()));
                    }
                }
                return messages;
            }
            case "assignment" -> {
                return consumer.assignment().stream().map(p -> new Object[] {p.topic(), p.partition()}).toList();
            }
            case "seek" -> consumer.seek(partition(request.get("partition")), request.get("offset").asLong());
            case "offset for time" -> {
                TopicPartition partition = partition(request.get("partition"));
                var found = consumer.offsetsForTimes(Map.of(partition, request.get("timestamp").asLong()), LIMIT).get(partition);
                return found == null ? null : found.offset();
            }
            case "bounds" -> {
                TopicPartition partition = partition(request.get("partition"));
                return new long[] {
                    consumer.beginningOffsets(List.of(partition), LIMIT).get(partition),
                    consumer.endOffsets(List.of(partition), LIMIT).get(partition)};
            }
            case "commit" -> consumer.commitSync(offsets(request.get("offsets")), LIMIT);
            case "committed" -> {
                TopicPartition partition = partition(request.get("partition"));
                OffsetAndMetadata found = consumer.committed(java.util.Set.of(partition), LIMIT).get(partition);
                return found == null ? null : found.offset();
            }
            default -> throw new IllegalArgumentException(operation);
        }
        return null;
    }

    private Object administer(String operation, JsonNode request, Admin admin) throws Exception {
        String name = request.path("name").asText();
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, name);
        switch (operation) {
            case "create topic" -> {
                Map<String, String> configs = new HashMap<>();
                request.get("configs").fields().forEachRemaining(field -> configs.put(field.getKey(), field.getValue().asText()));
                NewTopic topic = new NewTopic(name, request.get("partitions").asInt(), (short) 1).configs(configs);
                admin.createTopics(List.of(topic)).all().get();
            }
            case "delete topic" -> admin.deleteTopics(List.of(name)).all().get();
            case "add partitions" ->
                admin.createPartitions(Map.of(name, NewPartitions.increaseTo(request.get("total").asInt()))).all().get();
            case "topics" -> {
                Map<String, Integer> counts = new HashMap<>();
                admin.describeTopics(admin.listTopics().names().get()).allTopicNames().get()
                    .forEach((topic, description) -> counts.put(topic, description.partitions().size()));
                return counts;
            }
            case "topic configs" -> {
                Map<String, String> values = new HashMap<>();
                admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()
                    .forEach(entry -> values.put(entry.name(), entry.value()));
                return values;
            }
            case "set topic config" -> {
                ConfigEntry entry = new ConfigEntry(request.get("key").asText(), request.get("value").asText());
                admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET)))).all().get();
            }
            case "delete records" -> admin.deleteRecords(
                Map.of(partition(request.get("partition")), RecordsToDelete.beforeOffset(request.get("before").asLong()))).all().get();
            case "groups" -> {
                return admin.listGroups().all().get().stream().map(group -> group.groupId()).toList();
            }
            case "group" -> {
                var described = admin.describeConsumerGroups(List.of(name)).all().get().get(name);
                return new Object[] {described.groupState().toString(), described.members().size()};
            }
            default -> throw new IllegalArgumentException(operation);
        }
        return null;
    }

    private static Map<TopicPartition, OffsetAndMetadata> offsets(JsonNode items) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        items.forEach(item -> offsets.put(partition(item), new OffsetAndMetadata(item.get(2).asLong())));
        return offsets;
    }

    private static TopicPartition partition(JsonNode item) {
        return new TopicPartition(item.get(0).asText(), item.get(1).asInt());
    }

    private static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }
}
