import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Copies one partition in transactions until it is killed; any error ends it. Arguments: bootstrap servers, input topic,
 * output topic, partition. About one transaction in eight is aborted, and its input read again.
 */
public class Transform {
    public static void main(String[] arguments) {
        String bootstrap = arguments[0];
        String target = arguments[2];
        int partition = Integer.parseInt(arguments[3]);
        TopicPartition source = new TopicPartition(arguments[1], partition);
        String name = "copy-" + target + "-" + partition;
        Random random = new Random();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, name);
             KafkaProducer<byte[], byte[]> producer = producer(bootstrap, name)) {
            producer.initTransactions();
            consumer.assign(List.of(source));
            rewind(consumer, source);
            while (true) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) continue;
                producer.beginTransaction();
                long following = 0;
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    producer.send(new ProducerRecord<>(target, partition, null, record.value()));
                    following = record.offset() + 1;
                }
                if (random.nextInt(8) == 0) {
                    producer.abortTransaction();
                    rewind(consumer, source);
                    continue;
                }
                producer.sendOffsetsToTransaction(
                    Map.of(source, new OffsetAndMetadata(following)), consumer.groupMetadata());
                producer.commitTransaction();
            }
        }
    }

    private static void rewind(KafkaConsumer<byte[], byte[]> consumer, TopicPartition source) {
        OffsetAndMetadata committed = consumer.committed(java.util.Set.of(source)).get(source);
        consumer.seek(source, committed == null ? 0 : committed.offset());
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, String name) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", name);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String name) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", name);
        settings.put("transaction.timeout.ms", "15000");
        settings.put("linger.ms", "2");
        settings.put("max.block.ms", "60000");
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }
}
