import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Does what the lines of its input say; arguments: name=value settings of the producer.
 *
 * record, topic, partition (or -), timestamp (or -), key, value, name=value of each header: tab-separated, in hex, - for
 * null. flush | begin | commit | abort: one word. When all is sent: one line "topic partition offset timestamp" a record.
 */
public class Produce {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            settings.put(argument.substring(0, equals), argument.substring(equals + 1));
        }
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
            if (settings.containsKey("transactional.id")) producer.initTransactions();
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                String[] words = line.split("\t", -1);
                switch (words[0]) {
                    case "record" -> sent.add(producer.send(record(words)));
                    case "flush" -> producer.flush();
                    case "begin" -> producer.beginTransaction();
                    case "commit" -> producer.commitTransaction();
                    case "abort" -> producer.abortTransaction();
                    default -> throw new IllegalArgumentException(line);
                }
            }
            producer.flush();
        }
        StringBuilder output = new StringBuilder();
        for (Future<RecordMetadata> future : sent) {
            RecordMetadata at = future.get();
            output.append(at.topic()).append(' ').append(at.partition()).append(' ');
            output.append(at.offset()).append(' ').append(at.timestamp()).append('\n');
        }
        System.out.print(output);
    }

    private static ProducerRecord<byte[], byte[]> record(String[] words) {
        Integer partition = words[2].equals("-") ? null : Integer.valueOf(words[2]);
        Long timestamp = words[3].equals("-") ? null : Long.valueOf(words[3]);
        ProducerRecord<byte[], byte[]> record =
            new ProducerRecord<>(words[1], partition, timestamp, bytes(words[4]), bytes(words[5]));
        for (int i = 6; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            record.headers().add(new RecordHeader(words[i].substring(0, equals), bytes(words[i].substring(equals + 1))));
        }
        return record;
    }

    private static byte[] bytes(String hex) {
        return hex.equals("-") ? null : HexFormat.of().parseHex(hex);
    }
}
