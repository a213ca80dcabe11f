import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;

/** A node of OpenSearch from its jars, without the launcher that refuses to run as root. Arguments: key=value. */
public class Start {
  public static void main(String[] args) throws Exception {
    Map<String, String> settings = new HashMap<>();
    for (String arg : args) {
      int at = arg.indexOf('=');
      settings.put(arg.substring(0, at), arg.substring(at + 1));
    }
    Path config = Path.of(settings.get("path.home"), "config");
    Environment env = InternalSettingsPreparer.prepareEnvironment(Settings.EMPTY, settings, config, () -> "node");
    Node node = new Node(env);
    node.start();
    CountDownLatch end = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      try {
        node.close();
      } catch (Exception error) {
        error.printStackTrace();
      }
      end.countDown();
    }));
    end.await();
  }
}
