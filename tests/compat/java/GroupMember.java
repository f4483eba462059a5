import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * One member of a consumer group. Arguments: the topic, then name=value settings of the consumer.
 *
 * Writes a line for whatever happens: "assigned" and all partitions it has now, "revoked" and those it gave up, "record"
 * and the value (then commits), "paused", "closed". Reads commands: "pause" (it stops polling), "resume", "close".
 */
public class GroupMember {
    private static volatile boolean paused;
    private static volatile boolean closed;
    private static final TreeSet<Integer> partitions = new TreeSet<>();

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        for (int i = 1; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            settings.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        Thread reader = new Thread(GroupMember::readCommands);
        reader.setDaemon(true);
        reader.start();
        StringDeserializer text = new StringDeserializer();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, text, text)) {
            consumer.subscribe(List.of(arguments[0]), new Listener());
            while (!closed) {
                if (paused) Thread.sleep(50);
                else work(consumer);
            }
        }
        tell("closed");
    }

    private static void work(KafkaConsumer<String, String> consumer) {
        ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(50));
        for (ConsumerRecord<String, String> record : records) tell("record " + record.value());
        if (records.isEmpty()) return;
        try {
            consumer.commitSync();
        } catch (KafkaException error) {
            tell("failed " + error);
        }
    }

    private static void readCommands() {
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = input.readLine(); line != null && !line.equals("close"); line = input.readLine()) {
                paused = line.equals("pause");
                if (paused) tell("paused");
            }
        } catch (IOException error) {
            tell("failed " + error);
        }
        paused = false;
        closed = true;
    }

    private static synchronized void tell(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static String numbers(Collection<Integer> numbers) {
        return numbers.stream().map(number -> " " + number).collect(Collectors.joining());
    }

    private static class Listener implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            for (TopicPartition each : assigned) partitions.add(each.partition());
            tell("assigned" + numbers(partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            TreeSet<Integer> gone = new TreeSet<>();
            for (TopicPartition each : revoked) gone.add(each.partition());
            partitions.removeAll(gone);
            if (!gone.isEmpty()) tell("revoked" + numbers(gone));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> lost) {
            onPartitionsRevoked(lost);
        }
    }
}
