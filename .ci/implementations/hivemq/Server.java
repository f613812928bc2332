import com.hivemq.embedded.EmbeddedHiveMQ;
import java.nio.file.*;

public class Server {
    public static void main(String[] words) throws Exception {
        Path work = Path.of(System.getenv("WORK"));
        for (String name : new String[] {"conf", "data", "extensions"}) Files.createDirectories(work.resolve(name));
        Files.writeString(work.resolve("conf/config.xml"), """
            <?xml version="1.0"?>
            <hivemq><listeners><tcp-listener><port>%s</port><bind-address>127.0.0.1</bind-address></tcp-listener></listeners>
            <anonymous-usage-statistics><enabled>false</enabled></anonymous-usage-statistics></hivemq>
            """.formatted(System.getenv("PORT")));
        EmbeddedHiveMQ broker = EmbeddedHiveMQ.builder()
            .withConfigurationFolder(work.resolve("conf")).withDataFolder(work.resolve("data"))
            .withExtensionsFolder(work.resolve("extensions")).withoutLoggingBootstrap().build();
        broker.start().join();
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
