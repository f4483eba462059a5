import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a group, until its standard input ends. Arguments: a topic, then name=value settings of the consumer.
 *
 * It says what its listener hears and what it reads, one line each: "assigned 0,1", "revoked 0", "lost 0" (partition
 * numbers that came or went), "read 0 17" (partition, offset). It commits what it has read after every poll.
 */
public class GroupReader {
    private static void say(String kind, Collection<TopicPartition> partitions) {
        String numbers = partitions.stream().map(each -> "" + each.partition()).collect(Collectors.joining(","));
        System.out.println(kind + " " + numbers);
        System.out.flush();
    }

    private static final class Telling implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            say("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            say("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            say("lost", partitions);
        }
    }

    private static AtomicBoolean untilInputEnds() {
        AtomicBoolean ending = new AtomicBoolean();
        Thread listening = new Thread(() -> {
            try {
                while (System.in.read() >= 0) continue;
            } catch (IOException ended) {
                // as good as an end
            }
            ending.set(true);
        });
        listening.setDaemon(true);
        listening.start();
        return ending;
    }

    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        for (int i = 1; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            settings.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        AtomicBoolean ending = untilInputEnds();
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
            consumer.subscribe(List.of(arguments[0]), new Telling());
            while (!ending.get()) read(consumer);
        }
    }

    private static void read(KafkaConsumer<byte[], byte[]> consumer) {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
        if (records.isEmpty()) return;
        StringBuilder text = new StringBuilder();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            text.append("read ").append(record.partition()).append(' ').append(record.offset()).append('\n');
        }
        System.out.print(text);
        System.out.flush();
        try {
            consumer.commitSync();
        } catch (CommitFailedException | RebalanceInProgressException another) {
            // whoever has the partitions next reads it again
        }
    }
}
