import com.adobe.epubcheck.api.EPUBLocation;
import com.adobe.epubcheck.api.EpubCheck;
import com.adobe.epubcheck.api.MasterReport;
import com.adobe.epubcheck.messages.Message;
import com.adobe.epubcheck.messages.Severity;
import com.adobe.epubcheck.util.FeatureEnum;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.TreeSet;

/**
 * What epubcheck finds wrong in many books: a path a line on standard input, for each a line of the kinds of errors, such
 * as "RSC-012 ERROR", separated by tabs.
 *
 * <p>epubcheck's own command takes one book and needs seconds to start, most of them for its schemas.
 */
final class ErrorsOf extends MasterReport {
  private final TreeSet<String> kinds = new TreeSet<>();

  @Override
  public void message(Message message, EPUBLocation location, Object... arguments) {
    Severity severity = message.getSeverity();
    if (severity == Severity.ERROR || severity == Severity.FATAL) {
      kinds.add(message.getID() + " " + severity);
    }
  }

  @Override
  public void info(String resource, FeatureEnum feature, String value) {}

  @Override
  public int generate() {
    return 0;
  }

  @Override
  public void initialize() {}

  public static void main(String[] arguments) throws IOException {
    BufferedReader paths = new BufferedReader(new InputStreamReader(System.in));
    for (String path = paths.readLine(); path != null; path = paths.readLine()) {
      ErrorsOf report = new ErrorsOf();
      report.setEpubFileName(path);
      new EpubCheck(new File(path), report).check();
      System.out.println(String.join("\t", report.kinds));
    }
  }
}
