import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends what its input says with a producer as old as 0.8.2. Arguments: the brokers, and name=value settings.
 *
 * Each line is a record: codec, topic, timestamp, key, value, tab-separated, in hex, - for null; all of a codec are sent
 * before those of the next. When all is sent: one line, the offset, a record. Timestamps are dropped before 0.10.
 */
public class OldProduce {
    public static void main(String[] arguments) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        String codec = null;
        KafkaProducer<byte[], byte[]> producer = null;
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split("\t", -1);
            if (!words[0].equals(codec)) {
                if (producer != null) producer.close();
                codec = words[0];
                producer = open(arguments, codec);
            }
            sent.add(producer.send(record(words)));
        }
        if (producer != null) producer.close();
        StringBuilder output = new StringBuilder();
        for (Future<RecordMetadata> future : sent) output.append(future.get().offset()).append('\n');
        System.out.print(output);
    }

    private static KafkaProducer<byte[], byte[]> open(String[] arguments, String codec) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("compression.type", codec);
        settings.put("linger.ms", "20");
        for (int i = 1; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            settings.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    @SuppressWarnings("unchecked")
    private static ProducerRecord<byte[], byte[]> record(String[] words) throws Exception {
        byte[] key = bytes(words[3]), value = bytes(words[4]);
        try {
            Constructor<?> made = ProducerRecord.class.getConstructor(
                String.class, Integer.class, Long.class, Object.class, Object.class);
            return (ProducerRecord<byte[], byte[]>) made.newInstance(words[1], 0, Long.valueOf(words[2]), key, value);
        } catch (NoSuchMethodException before) {
            return new ProducerRecord<>(words[1], 0, key, value);
        }
    }

    private static byte[] bytes(String hex) {
        return hex.equals("-") ? null : HexFormat.of().parseHex(hex);
    }
}
