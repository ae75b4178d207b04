import { type Container, ContainerModule } from 'inversify';
import 'reflect-metadata';
import type { Logger } from 'pino';
import type { Authenticator } from '../../core/access/authenticate.js';
import type { Context } from '../../core/context.js';
import type { Ports } from '../../core/ports/ports.js';
import type { OpenGrpc } from '../grpc/open-grpc.js';
import type { CredentialRates } from '../http/host/authenticate.js';
import type { HttpFront, HttpHost } from '../http/host/server.js';
import type { InternalServer } from '../http/internal/internal-server.js';
import type { BrowserSessions, SignInRates } from '../http/pages/browser-sessions.js';
import type { Worker } from '../worker/worker.js';

/** The fronts of the HTTP server, in the order in which their routes are matched. */
export const HTTP_FRONTS = [
  'developerApi',
  'openAiApi',
  'mcp',
  'startPage',
  'pageAssets',
  'signIn',
  'consoleApi',
  'consolePages',
  'oauth',
  'signedObjects',
  'thumbnails',
  'probes',
] as const;

/** The parts that a process starts and stops, in the order of their start. */
export const ROOTS = ['http', 'grpc', 'internal', 'worker'] as const;

/**
 * Every part of a process, by the name it is bound under: its ports, and what is made over them. A part that the
 * configuration turns off is not bound.
 */
export interface Parts extends Ports, Record<(typeof HTTP_FRONTS)[number], HttpFront> {
  /** All that use cases work with. */
  readonly context: Context;
  readonly logger: Logger;
  /** The address of this process for clients, without a slash at the end. */
  readonly publicUrl: () => string;
  /** Whether the database responds, and still accepts writes. */
  readonly readiness: () => Promise<boolean>;
  /** Throws SERVICE_UNAVAILABLE for a request that the stores could not serve anyway. */
  readonly requireStores: (wouldAsk?: () => boolean) => void;
  readonly authenticator: Authenticator;
  readonly rates: CredentialRates;
  readonly sessions: BrowserSessions;
  readonly signInRates: SignInRates;
  readonly http: HttpHost;
  readonly grpc: OpenGrpc;
  readonly internal: InternalServer;
  readonly worker: Worker;
}

export type Roots = Partial<Pick<Parts, (typeof ROOTS)[number]>>;

/** Binds a part once for the process; `make` receives the parts that it names. A wrong type does not compile. */
export type Provide = <N extends keyof Parts, const D extends readonly (keyof Parts)[]>(
  name: N,
  needs: D,
  make: (parts: Pick<Parts, D[number]>) => NonNullable<Parts[N]>,
) => void;

/** `isBound` reports which parts the list has bound so far. */
export function partsModule(
  list: (provide: Provide, isBound: (name: keyof Parts) => boolean) => void,
): ContainerModule {
  return new ContainerModule(({ bind, isBound }) => {
    list((name, needs, make) => {
      const named = (parts: readonly unknown[]) => Object.fromEntries(needs.map((need, at) => [need, parts[at]]));
      bind(name)
        .toResolvedValue((...parts: unknown[]) => make(named(parts) as never), needs.map(String))
        .inSingletonScope();
    }, isBound);
  });
}

/** Binds parts that exist already. */
export function givenParts(parts: Partial<Parts>): ContainerModule {
  return new ContainerModule(({ bind }) => {
    for (const [name, part] of Object.entries(parts)) bind(name).toConstantValue(part);
  });
}

/** The parts with these names that are bound. Throws for a part that needs one that is not. */
export function resolveParts<N extends keyof Parts>(
  container: Container,
  names: readonly N[],
): Partial<Pick<Parts, N>> {
  const bound = names.filter((name) => container.isBound(name));
  return Object.fromEntries(bound.map((name) => [name, container.get(name)])) as unknown as Partial<Pick<Parts, N>>;
}
