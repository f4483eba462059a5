/* Sends one record with a token of its own: java ... TokenProduce <setting>=<value> ... <topic>
 *
 * The login's handler is this class: it gives the brokers the token that the option tokenFile of the login entry names.
 * Prints the offset. Ends with exit code 1 when the brokers refuse it.
 */

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class TokenProduce implements AuthenticateCallbackHandler {
    private String file;

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        for (int i = 0; i < arguments.length - 1; i++) {
            int sign = arguments[i].indexOf('=');
            settings.put(arguments[i].substring(0, sign), arguments[i].substring(sign + 1));
        }
        settings.put("sasl.login.callback.handler.class", TokenProduce.class.getName());
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
            String topic = arguments[arguments.length - 1];
            System.out.println(producer.send(new ProducerRecord<>(topic, new byte[] {1})).get().offset());
        }
    }

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
        file = (String) entries.get(0).getOptions().get("tokenFile");
    }

    @Override
    public void handle(Callback[] callbacks) throws java.io.IOException {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerTokenCallback)
                ((OAuthBearerTokenCallback) callback).token(new Token(Files.readString(Path.of(file)).trim()));
        }
    }

    @Override
    public void close() { }

    private static class Token implements OAuthBearerToken {
        private final String text;
        private final long end;

        Token(String text) {
            String claims = new String(Base64.getUrlDecoder().decode(text.split("\\.")[1]), StandardCharsets.UTF_8);
            Matcher found = Pattern.compile("\"exp\": *([0-9]+)").matcher(claims);
            this.text = text;
            this.end = found.find() ? Long.parseLong(found.group(1)) * 1000 : Long.MAX_VALUE;
        }

        @Override
        public String value() { return text; }

        @Override
        public Set<String> scope() { return Set.of(); }

        @Override
        public long lifetimeMs() { return end; }

        @Override
        public String principalName() { return "unused"; }

        @Override
        public Long startTimeMs() { return null; }
    }
}
