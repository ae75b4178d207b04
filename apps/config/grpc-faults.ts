import type { Config } from './config.js';
import { isLoopback } from './loopback.js';

/** One sentence for each setting that would let an unauthorised client call, or a third party read the traffic. */
export function grpcFaults({ grpc, role, stores }: Pick<Config, 'grpc' | 'role' | 'stores'>): string[] {
  if (grpc === undefined) return [];
  const faults: string[] = [];
  const isLocal = isLoopback(grpc.host);
  const isAlone = role === 'all' && stores.database.driver.isInDataFolder === true;
  if (grpc.callersFile === undefined && !(isLocal && isAlone)) {
    faults.push(
      'grpc.port needs grpc.callers_file; without one, callers need not authenticate, which is allowed only for a process with its own data folder that listens on 127.0.0.1.',
    );
  }
  if ((grpc.tlsCertFile === undefined) !== (grpc.tlsKeyFile === undefined))
    faults.push('grpc.tls_cert_file and grpc.tls_key_file belong together: give both or neither.');
  if (grpc.tlsClientCaFile !== undefined && grpc.tlsCertFile === undefined)
    faults.push('grpc.tls_client_ca_file needs grpc.tls_cert_file and grpc.tls_key_file.');
  if (grpc.tlsClientCaFile !== undefined && grpc.callersFile === undefined)
    faults.push(
      'grpc.tls_client_ca_file needs grpc.callers_file, which defines what its services may do; without one, all of them may do everything.',
    );
  if (!isLocal && grpc.tlsCertFile === undefined && !grpc.plaintext) {
    faults.push(
      `grpc.host ${grpc.host} is reachable from other machines, so tokens would travel in plain text: set grpc.tls_cert_file and grpc.tls_key_file, or grpc.plaintext: true if a proxy in front encrypts.`,
    );
  }
  return faults;
}
