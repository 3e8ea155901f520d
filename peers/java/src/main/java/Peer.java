import com.google.crypto.tink.InsecureSecretKeyAccess;
import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.RegistryConfiguration;
import com.google.crypto.tink.StreamingAead;
import com.google.crypto.tink.TinkJsonProtoKeysetFormat;
import com.google.crypto.tink.streamingaead.StreamingAeadConfig;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Opens and makes files with Tink for Java, so that cipherloom can be tested against it.
 *
 * <p>Arguments, any number of times: {@code encrypt|decrypt KEYSET IN OUT AD}. Several jobs share one start of the
 * virtual machine.
 */
public final class Peer {
  private Peer() {}

  public static void main(String[] arguments) throws Exception {
    StreamingAeadConfig.register();
    for (int job = 0; job + 5 <= arguments.length; job += 5) {
      String keyset = Files.readString(Path.of(arguments[job + 1]));
      KeysetHandle handle = TinkJsonProtoKeysetFormat.parseKeyset(keyset, InsecureSecretKeyAccess.get());
      StreamingAead cipher = handle.getPrimitive(RegistryConfiguration.get(), StreamingAead.class);
      byte[] associatedData = arguments[job + 4].getBytes(StandardCharsets.UTF_8);
      try (InputStream in = Files.newInputStream(Path.of(arguments[job + 2]));
          OutputStream out = Files.newOutputStream(Path.of(arguments[job + 3]))) {
        switch (arguments[job]) {
          case "encrypt" -> {
            try (OutputStream sealed = cipher.newEncryptingStream(out, associatedData)) {
              in.transferTo(sealed);
            }
          }
          case "decrypt" -> {
            try (InputStream opened = cipher.newDecryptingStream(in, associatedData)) {
              opened.transferTo(out);
            }
          }
          default -> throw new IllegalArgumentException("encrypt or decrypt, not " + arguments[job]);
        }
      }
    }
  }
}
