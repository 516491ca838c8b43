import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;

/** JSON as plain Java objects (Long, Double, String, Boolean, List, Map): the default value serde of the golden cases. */
public final class JsonSerde implements Serde<Object> {
    static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.USE_LONG_FOR_INTS);

    @Override
    public Serializer<Object> serializer() {
        return (topic, value) -> {
            try {
                return value == null ? null : JSON.writeValueAsBytes(value);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        };
    }

    @Override
    public Deserializer<Object> deserializer() {
        return (topic, data) -> {
            try {
                return data == null ? null : JSON.readValue(data, Object.class);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        };
    }
}
