import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;

/**
 * Takes a topic through its life with the admin client and prints each answer on a line. Arguments: bootstrap, topic.
 */
public class Administer {
    private static Admin admin;

    private interface Call {
        Object make() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        admin = Admin.create(Map.of("bootstrap.servers", arguments[0]));
        try {
            tell("cluster", Administer::cluster);
            NewTopic wanted = new NewTopic(topic, Optional.of(2), Optional.empty());
            wanted.configs(Map.of("retention.ms", "123456", "cleanup.policy", "compact,delete"));
            tell("create", () -> admin.createTopics(List.of(wanted)).all().get());
            tell("create again", () -> admin.createTopics(List.of(wanted)).all().get());
            tell("create what cannot be", () -> admin.createTopics(List.of(new NewTopic("a b", 1, (short) 1))).all().get());
            tell("list", () -> new TreeSet<>(admin.listTopics().names().get()).contains(topic));
            tell("describe", () -> describe(topic));
            tell("describe by id", () -> describeById(topic));
            tell("describe nothing", () -> describe("not-there"));
            tell("grow", () -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get());
            tell("shrink", () -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(1))).all().get());
            tell("configs", () -> configs(topic));
            tell("earliest", () -> offsets(topic, OffsetSpec.earliest()));
            tell("latest", () -> offsets(topic, OffsetSpec.latest()));
            tell("by time", () -> offsets(topic, OffsetSpec.forTimestamp(5)));
            tell("log dirs", () -> logDirs(topic));
            tell("delete", () -> admin.deleteTopics(List.of(topic)).all().get());
            tell("delete again", () -> admin.deleteTopics(List.of(topic)).all().get());
        } finally {
            admin.close();
        }
    }

    private static void tell(String name, Call call) throws Exception {
        Object answer;
        try {
            answer = call.make();
        } catch (ExecutionException error) {
            if (!(error.getCause() instanceof ApiException)) throw error;
            answer = error.getCause().getClass().getSimpleName();
        }
        System.out.println(name + ": " + (answer == null ? "done" : answer));
    }

    private static Object cluster() throws Exception {
        Collection<Node> nodes = admin.describeCluster().nodes().get();
        Node controller = admin.describeCluster().controller().get();
        return nodes.size() + " node, controller " + controller.id() + ", cluster id of "
            + admin.describeCluster().clusterId().get().length();
    }

    private static Object describe(String topic) throws Exception {
        return text(admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic));
    }

    private static Object describeById(String topic) throws Exception {
        var id = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
        var found = admin.describeTopics(org.apache.kafka.common.TopicCollection.ofTopicIds(List.of(id)));
        return text(found.allTopicIds().get().get(id));
    }

    private static String text(TopicDescription topic) {
        String partitions = topic.partitions().stream().map(Administer::text).collect(Collectors.joining(" "));
        return topic.name() + (topic.isInternal() ? " internal " : " ") + partitions;
    }

    private static String text(TopicPartitionInfo partition) {
        return partition.partition() + "@" + partition.leader().id() + partition.replicas().stream().map(Node::id).toList()
            + partition.isr().stream().map(Node::id).toList();
    }

    private static Object configs(String topic) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        Map<String, String> own = new TreeMap<>();
        config.entries().stream().filter(entry -> !entry.isDefault()).forEach(entry -> own.put(entry.name(), entry.value()));
        return own + " of " + config.entries().size();
    }

    private static Object offsets(String topic, OffsetSpec spec) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        ListOffsetsResultInfo found = admin.listOffsets(Map.of(partition, spec)).all().get().get(partition);
        return found.offset() + " at " + found.timestamp();
    }

    private static Object logDirs(String topic) throws Exception {
        int broker = admin.describeCluster().nodes().get().iterator().next().id();
        Map<String, LogDirDescription> found = admin.describeLogDirs(List.of(broker)).allDescriptions().get().get(broker);
        return found.values().stream().flatMap(dir -> dir.replicaInfos().keySet().stream())
            .filter(partition -> partition.topic().equals(topic)).count() + " replicas";
    }
}
