import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.HexFormat;

/** Prints the cells 1 to JUDGE_CELLS as EncJDBC reads them: a line each, its characters in hexadecimal digits. */
public final class Judge {
    public static void main(String[] arguments) throws Exception {
        Class.forName("com.aliyun.encdb.mysql.jdbc.EncDriver");
        int cells = Integer.parseInt(System.getenv("JUDGE_CELLS"));
        try (Connection connection = DriverManager.getConnection(System.getenv("JUDGE_URL"));
             Statement statement = connection.createStatement()) {
            // One at a time: the driver takes the type of a column from the first cell in it.
            for (int id = 1; id <= cells; id++) {
                try (ResultSet rows = statement.executeQuery("SELECT value FROM cells WHERE id = " + id)) {
                    rows.next();
                    byte[] value = rows.getString(1).getBytes(StandardCharsets.UTF_8);
                    System.out.println(HexFormat.of().formatHex(value));
                }
            }
        }
    }
}
