import { Router } from '@koa/router';
import { ServiceError } from '../../core/errors.js';
import type { RestMiddleware } from './rest-context.js';

export type Endpoint = readonly [method: 'GET' | 'POST', path: string, serve: RestMiddleware];

/** Routes by exact path; whatever matches none is refused, and a path that only lacks the method says which it has. */
export function createRouting(endpoints: readonly Endpoint[]): readonly RestMiddleware[] {
  const router = new Router({ strict: true, sensitive: true });
  for (const [method, path, serve] of endpoints) router.register(path, [method], serve as never);
  const refuse: RestMiddleware = async (ctx) => {
    const methods = new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods));
    if (methods.size === 0) throw new ServiceError('ROUTE_NOT_FOUND');
    const allowed = [...methods].toSorted().join(', ');
    ctx.res.setHeader('Allow', allowed);
    throw new ServiceError('METHOD_NOT_ALLOWED', `This route takes ${allowed}.`);
  };
  return [router.routes() as unknown as RestMiddleware, refuse];
}
