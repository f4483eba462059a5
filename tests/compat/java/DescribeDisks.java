import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.LogDirDescription;

/**
 * Prints total and usable bytes of each log directory of a broker (KIP-827). Arguments: bootstrap, broker.
 */
public class DescribeDisks {
    public static void main(String[] arguments) throws Exception {
        int broker = Integer.parseInt(arguments[1]);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            Map<String, LogDirDescription> found = admin.describeLogDirs(List.of(broker)).allDescriptions().get().get(broker);
            found.forEach((path, each) ->
                System.out.println(path + "\t" + each.totalBytes().orElse(-1) + "\t" + each.usableBytes().orElse(-1)));
        }
    }
}
