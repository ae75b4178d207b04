// Goal: the health of the front reports whether work should be sent here, and stores nothing that an unauthenticated
// client sends.
// Method: the library's own health client, on a server whose readiness the test decides.
import {
  Client,
  type ClientReadableStream,
  credentials,
  Server,
  ServerCredentials,
  type ServiceError,
  status as Status,
} from '@grpc/grpc-js';
import { expect } from 'chai';
import { HealthImplementation, service } from 'grpc-health-check';
import { Health } from '../../../apps/grpc/server.js';

const OWN = 'darkroom.v1.Generations';
const definitionOf = (name: string) => {
  const found = service[name];
  if (found === undefined) throw new Error(`The health service has no ${name}.`);
  return found;
};

describe('the health of the gRPC front', () => {
  let server: Server;
  let health: Health;
  let client: Client;
  beforeEach(async () => {
    server = new Server();
    health = new Health([OWN]);
    health.addTo(server);
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
        if (error) reject(error);
        else resolve(bound);
      });
    });
    client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  });
  afterEach(() => {
    health.stop();
    client.close();
    server.forceShutdown();
  });

  const check = (name: string): Promise<string | ServiceError> =>
    new Promise((resolve) => {
      const { path, requestSerialize, responseDeserialize } = definitionOf('Check');
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service: name }, (error, answer) => {
        resolve(error ?? (answer as { status: string }).status);
      });
    });
  const watch = (name: string): ClientReadableStream<{ readonly status: string }> => {
    const { path, requestSerialize, responseDeserialize } = definitionOf('Watch');
    return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {
      service: name,
    }) as ClientReadableStream<{ readonly status: string }>;
  };

  it('is that of the process: not serving while it is not ready, nor from the moment it stops', async () => {
    let isReady = true;
    expect([await check(''), await check(OWN)]).to.deep.equal(['SERVING', 'SERVING']);
    health.follow(() => (isReady ? Promise.resolve(true) : Promise.reject(new Error('The store is away.'))), 5);
    const told: string[] = [];
    for await (const { status } of watch(OWN)) {
      told.push(status);
      if (told.length === 1) isReady = false;
      if (told.length === 2) isReady = true;
      if (told.length === 3) health.stop();
      if (told.length === 4) break;
    }
    expect(told).to.deep.equal(['SERVING', 'NOT_SERVING', 'SERVING', 'NOT_SERVING']);
    expect(await check('')).to.equal('NOT_SERVING');
  });

  it('neither knows, repeats nor stores a name that a caller invents', async () => {
    for (const name of ['x', 'x'.repeat(100_000), '\u{1f3a8}'.repeat(10_000), '__proto__']) {
      const error = await check(name);
      expect(error).to.have.property('code', Status.NOT_FOUND);
      expect((error as ServiceError).details).to.have.length.below(100);
      for await (const { status } of watch(name)) {
        expect(status).to.equal('SERVICE_UNKNOWN');
        break;
      }
    }
    const implementation: unknown = Reflect.get(health, 'implementation');
    expect(implementation).to.be.instanceOf(HealthImplementation);
    expect([...(Reflect.get(implementation as object, 'watchers') as Map<string, unknown>).keys()]).to.deep.equal([
      'unknown',
    ]);
  });
});
