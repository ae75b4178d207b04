import type { Server, ServiceDefinition } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { singleFlight } from '../readiness.js';

/** How often readiness is checked, and the time limit of a check. */
const LOOK_EVERY_MS = 3_000;
const ANSWER_WITHIN_MS = 2_500;

/** The label of every unknown name: names invented by callers are neither stored nor repeated. */
const UNKNOWN = 'unknown';

/** `grpc.health.v1.Health` for the whole front, whose name is empty, and for each of its services. */
export class Health {
  private readonly names: readonly string[];
  private readonly implementation: HealthImplementation;
  private looking: NodeJS.Timeout | undefined;
  private isServing = true;

  constructor(services: readonly string[]) {
    this.names = ['', ...services];
    this.implementation = new HealthImplementation(
      Object.fromEntries(this.names.map((name) => [name, 'SERVING'] as const)),
    );
  }

  addTo(server: Server): void {
    const knownOnly = {
      addService: (service: ServiceDefinition, serving: Parameters<Server['addService']>[1]) =>
        server.addService(this.withKnownNames(service), serving),
    };
    this.implementation.addToServer(knownOnly);
  }

  /** Says `NOT_SERVING` while the process is not ready, until `stop`. */
  follow(isReady: () => Promise<boolean>, everyMs = LOOK_EVERY_MS): void {
    const ask = singleFlight(isReady, ANSWER_WITHIN_MS);
    const look = async (): Promise<void> => {
      const isServing = await ask().catch(() => false);
      if (this.looking !== undefined) this.say(isServing);
    };
    this.looking = setInterval(() => void look(), everyMs).unref();
  }

  /** Says `NOT_SERVING` from now on. */
  stop(): void {
    clearInterval(this.looking);
    this.looking = undefined;
    this.say(false);
  }

  private say(isServing: boolean): void {
    if (isServing === this.isServing) return;
    this.isServing = isServing;
    for (const name of this.names) this.implementation.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING');
  }

  private withKnownNames(service: ServiceDefinition): ServiceDefinition {
    return Object.fromEntries(
      Object.entries(service).map(([name, method]) => [
        name,
        {
          ...method,
          requestDeserialize: (bytes: Buffer): unknown => {
            const asked = method.requestDeserialize(bytes) as { readonly service?: string };
            return asked.service === undefined || this.names.includes(asked.service) ? asked : { service: UNKNOWN };
          },
        },
      ]),
    );
  }
}
