import { ContainerModule, type Container } from 'inversify';
import type { Token } from '../core/ports/ports.js';

type Dependencies<D extends readonly Token<unknown>[]> = { [I in keyof D]: D[I] extends Token<infer T> ? T : never };

/**
 * Binds a port once for the process. The tokens name the dependencies of `make`; a wrong type or order does not
 * compile.
 */
export type Provide = <T, const D extends readonly Token<unknown>[]>(
  token: Token<T>,
  needs: D,
  make: (...dependencies: Dependencies<D>) => T,
) => void;

/** A module that binds ports to adapters. Clients and files are opened earlier and passed in ready-made. */
export function provideModule(list: (provide: Provide) => void): ContainerModule {
  return new ContainerModule(({ bind }) => {
    list((token, needs, make) => {
      const identifiers = needs.map(({ id }) => id);
      bind(token.id)
        .toResolvedValue(
          (...dependencies: unknown[]) => make(...(dependencies as Dependencies<typeof needs>)),
          identifiers,
        )
        .inSingletonScope();
    });
  });
}

/** The value bound under the token. Throws if there is none. */
export function resolve<T>(container: Container, token: Token<T>): T {
  return container.get<T>(token.id);
}
