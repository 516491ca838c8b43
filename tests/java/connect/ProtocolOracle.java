package org.apache.kafka.connect.runtime.distributed;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;

/** Reads lines "metadata HEX" and "assignment HEX"; answers what Kafka's workers understand, and how they write it. */
public class ProtocolOracle {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            ByteBuffer given = ByteBuffer.wrap(HexFormat.of().parseHex(words[1]));
            Object read;
            ByteBuffer written;
            if (words[0].equals("metadata")) {
                ExtendedWorkerState state = IncrementalCooperativeConnectProtocol.deserializeMetadata(given);
                read = state;
                written = IncrementalCooperativeConnectProtocol.serializeMetadata(state, true);
            } else {
                ExtendedAssignment assignment = IncrementalCooperativeConnectProtocol.deserializeAssignment(given);
                read = assignment;
                written = IncrementalCooperativeConnectProtocol.serializeAssignment(assignment, true);
            }
            byte[] bytes = new byte[written.remaining()];
            written.get(bytes);
            System.out.println(HexFormat.of().formatHex(bytes) + " " + read);
        }
    }
}
