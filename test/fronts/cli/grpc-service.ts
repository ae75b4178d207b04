import { type Server, ServerCredentials } from '@grpc/grpc-js';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { OPERATOR_SCOPES, type ServiceCaller } from '../../../apps/grpc/callers.js';
import { createGrpcServer, type GrpcServer } from '../../../apps/grpc/server.js';
import { newOwner, type Owner } from '../../fixtures/memory-stores.js';
import { CliRun, type Ran } from '../../harness/cli-run.js';
import { type HarnessOptions, openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';

/** Callers by token; tests may change them. A certificate stands for the operator. */
export const CALLERS: Record<string, ServiceCaller | undefined> = {
  operator: { name: 'operator', scopes: [...OPERATOR_SCOPES] },
  reader: { name: 'reader', scopes: ['access:read'] },
  revoked: { name: 'revoked', scopes: [...OPERATOR_SCOPES], isRevoked: true },
  expired: { name: 'expired', scopes: [...OPERATOR_SCOPES], expiresAt: 1 },
};

/** The gRPC front of a small harness in this process, and operators' commands beside it. */
export class GrpcService {
  readonly folder = mkdtempSync(join(tmpdir(), 'darkroom-grpc-cli-'));
  private server: GrpcServer | undefined;
  private port = 0;

  private constructor(
    readonly harness: ServiceHarness,
    readonly owner: Owner,
    private readonly credentials: ServerCredentials | undefined,
  ) {}

  static async open(options: HarnessOptions = {}, credentials?: ServerCredentials): Promise<GrpcService> {
    const harness = await openServiceHarness(options);
    const grpc = new GrpcService(harness, await newOwner(harness.context, 'owner', 100), credentials);
    await grpc.start();
    return grpc;
  }

  /** Starts the server, on its previous port if it had one. */
  async start(): Promise<void> {
    this.server = createGrpcServer({
      context: this.harness.context,
      callers: {
        find: ({ token, certificateNames }) => CALLERS[token ?? (certificateNames.length > 0 ? 'operator' : '')],
      },
      logger: pino({ level: 'silent' }),
      ...(this.credentials === undefined ? {} : { credentials: this.credentials }),
    });
    this.port = await this.server.listen('127.0.0.1', this.port);
  }

  /** Stops the server without waiting for calls. */
  async stop(): Promise<void> {
    await this.server?.close(0);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** A command on this server. */
  operate(args: readonly string[], token = 'operator'): Promise<Ran> {
    return this.run([...args, '--grpc', this.address], token);
  }

  run(args: readonly string[], token = 'operator', environment: Readonly<Record<string, string>> = {}): Promise<Ran> {
    return new CliRun(this.folder, args, { environment: { DARKROOM_SERVICE_TOKEN: token, ...environment } }).ended;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.harness.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Binds a foreign server to a free port. */
export function bound(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}
