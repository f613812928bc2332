import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.ActiveMQServers;

public class Server {
    public static void main(String[] words) throws Exception {
        Configuration configuration = new ConfigurationImpl().setPersistenceEnabled(false).setSecurityEnabled(false);
        configuration.addAcceptorConfiguration("amqp", "tcp://127.0.0.1:" + System.getenv("PORT") + "?protocols=AMQP");
        ActiveMQServers.newActiveMQServer(configuration).start();
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
