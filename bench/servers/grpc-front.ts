import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../apps/config/config.js';
import { digestOf } from '../../apps/grpc/callers.js';
import { openGrpc } from '../../apps/grpc/open-grpc.js';
import type { GrpcServer } from '../../apps/grpc/server.js';
import { createLogger } from '../../apps/logging/logging.js';
import { SERVICE_TOKEN } from './sample.js';

/** The gRPC front as it ships, with one service that may call it. Nothing listens yet. */
export function openBenchGrpc(
  { dataFolder, log }: Config,
  parts: Omit<Parameters<typeof openGrpc>[1], 'logger'>,
): GrpcServer {
  const callersFile = join(dataFolder, 'callers.yaml');
  const caller = {
    name: 'bench',
    token_sha256: digestOf(SERVICE_TOKEN),
    scopes: ['generations:read', 'generations:write'],
  };
  writeFileSync(callersFile, JSON.stringify({ callers: [caller] }));
  return openGrpc(
    { host: '127.0.0.1', port: 0, callersFile, plaintext: false },
    { ...parts, logger: createLogger(log) },
  );
}
