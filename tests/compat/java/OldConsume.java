import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads partition 0 of topics with a consumer as old as 0.9. Arguments: the brokers, topic:count of what is to be read
 * from offset 0 on, and name=value settings.
 *
 * One line a record: topic, offset, timestamp (-1 before 0.10), key, value: tab-separated, in hex, - for null.
 */
public class OldConsume {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("enable.auto.commit", "false");
        settings.put("max.partition.fetch.bytes", "20000");
        List<TopicPartition> partitions = new ArrayList<>();
        long left = 0;
        for (int i = 1; i < arguments.length; i++) {
            String[] words = arguments[i].split("=|:", 2);
            if (arguments[i].indexOf('=') >= 0) {
                settings.put(words[0], words[1]);
                continue;
            }
            partitions.add(new TopicPartition(words[0], 0));
            left += Long.parseLong(words[1]);
        }
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        Method timestamp = timestampOf();
        StringBuilder output = new StringBuilder();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
            consumer.assign(partitions);
            for (TopicPartition partition : partitions) consumer.seek(partition, 0L);
            long deadline = System.currentTimeMillis() + 45_000;
            while (left > 0 && System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(200L)) {
                    output.append(record.topic()).append('\t').append(record.offset()).append('\t');
                    output.append(timestamp == null ? -1L : timestamp.invoke(record)).append('\t');
                    output.append(hex(record.key())).append('\t').append(hex(record.value())).append('\n');
                    left--;
                }
            }
        }
        System.out.print(output);
    }

    private static Method timestampOf() {
        try {
            return ConsumerRecord.class.getMethod("timestamp");
        } catch (NoSuchMethodException before) {
            return null;
        }
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? "-" : HexFormat.of().formatHex(bytes);
    }
}
