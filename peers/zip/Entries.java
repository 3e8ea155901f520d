// Reads every entry of each archive with java.util.zip; prints a line for each archive: "ok" or the exception.
import java.io.IOException;
import java.io.InputStream;
import java.util.Collections;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

public class Entries {
    public static void main(String[] paths) {
        for (String path : paths) {
            try (ZipFile archive = new ZipFile(path)) {
                for (ZipEntry entry : Collections.list(archive.entries())) {
                    CRC32 crc = new CRC32();
                    try (InputStream content = archive.getInputStream(entry)) {
                        crc.update(content.readAllBytes());
                    }
                    if (crc.getValue() != entry.getCrc()) {
                        throw new IOException("CRC-32");
                    }
                }
                System.out.println("ok");
            } catch (IOException | RuntimeException error) {
                System.out.println(error.toString().replace('\n', ' '));
            }
        }
    }
}
