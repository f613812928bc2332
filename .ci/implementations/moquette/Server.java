import io.moquette.broker.config.MemoryConfig;
import java.util.Properties;

public class Server {
    public static void main(String[] words) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("port", System.getenv("PORT"));
        properties.setProperty("host", "127.0.0.1");
        properties.setProperty("allow_anonymous", "true");
        properties.setProperty("persistence_enabled", "false");
        properties.setProperty("data_path", System.getenv("WORK"));
        new io.moquette.broker.Server().startServer(new MemoryConfig(properties));
        Thread.sleep(Long.MAX_VALUE);
    }
}
