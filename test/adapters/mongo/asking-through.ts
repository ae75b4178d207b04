import type { MongoConnection } from '../../../adapters/mongo/connection.js';

/** Decides what becomes of one operation on the server: usually `operation()`, with something before or after. */
export type Around = <T>(operation: () => Promise<T>) => Promise<T>;

/** The same connection, with every operation going through `around`. */
export function askingThrough(connection: MongoConnection, around: Around): MongoConnection {
  return new Proxy(connection, {
    get(target, property, receiver: MongoConnection) {
      if (property === 'ask')
        return (...asked: Parameters<MongoConnection['ask']>) => around(() => target.ask(...asked));
      // It asks by the method above.
      if (property === 'writeInOrder') return target.writeInOrder.bind(receiver);
      const member: unknown = Reflect.get(target, property, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
