import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads assigned partitions to their present end. Arguments: name=value settings, then topic:partition to read from the
 * start, or topic:partition:timestamp to read from the first record at or after that time.
 *
 * One line a record: topic, partition, offset, timestamp type, timestamp, leader epoch (or -), key, value, name=value of
 * each header: tab-separated, in hex, - for null.
 */
public class Consume {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        List<String[]> wanted = new ArrayList<>();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            if (equals < 0) wanted.add(argument.split(":"));
            else settings.put(argument.substring(0, equals), argument.substring(equals + 1));
        }
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (String[] words : wanted) partitions.add(new TopicPartition(words[0], Integer.parseInt(words[1])));
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            for (int i = 0; i < wanted.size(); i++) start(consumer, partitions.get(i), wanted.get(i), ends);
            StringBuilder output = new StringBuilder();
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) write(record, output);
            }
            System.out.print(output);
        }
    }

    private static void start(
        KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, String[] words, Map<TopicPartition, Long> ends
    ) {
        if (words.length < 3) {
            consumer.seekToBeginning(List.of(partition));
            return;
        }
        OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, Long.valueOf(words[2]))).get(partition);
        consumer.seek(partition, found == null ? ends.get(partition) : found.offset());
    }

    private static void write(ConsumerRecord<byte[], byte[]> record, StringBuilder output) {
        output.append(record.topic()).append('\t').append(record.partition()).append('\t').append(record.offset());
        output.append('\t').append(record.timestampType()).append('\t').append(record.timestamp()).append('\t');
        output.append(record.leaderEpoch().map(String::valueOf).orElse("-"));
        output.append('\t').append(hex(record.key())).append('\t').append(hex(record.value()));
        for (Header header : record.headers()) {
            output.append('\t').append(header.key()).append('=').append(hex(header.value()));
        }
        output.append('\n');
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? "-" : HexFormat.of().formatHex(bytes);
    }
}
