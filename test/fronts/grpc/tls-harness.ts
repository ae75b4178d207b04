import { type ChannelCredentials, Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type ConnectionOptions } from 'node:tls';
import { DETAILS_KEY } from '../../../apps/grpc/error-status.js';
import { Access } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { openGrpc } from '../../../apps/grpc/open-grpc.js';
import type { GrpcServer } from '../../../apps/grpc/server.js';
import type { JsonObject } from '../../../core/json.js';
import { Authority, type Pair } from '../../fixtures/authority.js';
import { openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';
import { refusal, unary } from './grpc-client.js';
import { keptLog } from '../../harness/kept-log.js';

export interface TlsStageOptions {
  readonly callers: readonly JsonObject[];
  readonly asksForCertificates: boolean;
}

/** The gRPC front as it is configured with TLS, over a small harness, with an authority that made its certificate. */
export class TlsStage {
  private constructor(
    readonly log: Readonly<Record<string, unknown>>[],
    readonly folder: string,
    readonly authority: Authority,
    readonly harness: ServiceHarness,
    private readonly server: GrpcServer,
    private readonly port: number,
  ) {}

  /** Rejects with `ServerAbsent` where no certificate can be made. */
  static async open({ callers, asksForCertificates }: TlsStageOptions): Promise<TlsStage> {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-tls-'));
    try {
      const authority = await Authority.make(folder, 'ours');
      const { certFile, keyFile } = authority.issue({ names: ['DNS:localhost'], usage: 'serverAuth' });
      const callersFile = join(folder, 'callers.yaml');
      writeFileSync(
        callersFile,
        JSON.stringify({ callers: callers.map((caller) => ({ scopes: ['access:read'], ...caller })) }),
      );
      const files = {
        callersFile,
        tlsCertFile: certFile,
        tlsKeyFile: keyFile,
        ...(asksForCertificates ? { tlsClientCaFile: authority.certFile } : {}),
      };
      const { lines, logger } = keptLog();
      const harness = await openServiceHarness();
      const server = openGrpc(
        { host: '127.0.0.1', port: 0, plaintext: false, ...files },
        { context: harness.context, logger, observer: undefined },
      );
      return new TlsStage(lines, folder, authority, harness, server, await server.listen('127.0.0.1', 0));
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
  }

  /**
   * Makes one call on its own connection and returns `OK`, the code of the refusal, or the library's status if there is
   * no code.
   */
  async ask(channel: ChannelCredentials, authorization?: string): Promise<string> {
    const client = new Client(`localhost:${this.port}`, channel);
    const metadata = new Metadata();
    if (authorization !== undefined) metadata.set('authorization', authorization);
    try {
      await unary(client, Access.method.listAccounts, {}, metadata);
      return 'OK';
    } catch (thrown) {
      const error = thrown as ServiceError;
      return error.metadata.get(DETAILS_KEY).length === 0 ? `status ${error.code}` : refusal(error).code;
    } finally {
      client.close();
    }
  }

  /** Channel credentials that trust the authority, with or without a client certificate. */
  channel(own?: Pair): ChannelCredentials {
    return own === undefined
      ? credentials.createSsl(this.authority.cert)
      : credentials.createSsl(this.authority.cert, own.key, own.cert);
  }

  /** The version that was agreed on once the server has spoken, or why TLS came to nothing. */
  async shakeHands(options: ConnectionOptions): Promise<string> {
    const socket = connect({
      host: '127.0.0.1',
      servername: 'localhost',
      port: this.port,
      ca: this.authority.cert,
      ALPNProtocols: ['h2'],
      ...options,
    });
    try {
      const said = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => 'closed')]);
      return said === 'closed' ? said : (socket.getProtocol() ?? '');
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    } finally {
      socket.destroy();
    }
  }

  async close(): Promise<void> {
    await this.server.close(1_000);
    await this.harness.close();
    rmSync(this.folder, { recursive: true });
  }
}
