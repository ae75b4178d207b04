import type { JsonObject } from '../../../../core/json.js';
import type { Route } from '../operation.js';

/** Where the ids of what was created lead: a tool that follows them reaches every operation on it. */
export function linksOf(route: Route, routes: readonly Route[]): JsonObject {
  if (route.method !== 'POST' || idsIn(route).length > 0) return {};
  const created = Object.keys((route.operation.data['properties'] ?? {}) as JsonObject);
  const reached = routes.filter((other) => idsIn(other).length > 0 && idsIn(other).every((id) => created.includes(id)));
  return Object.fromEntries(
    reached.map((other) => [
      other.operation.operationId,
      {
        operationId: other.operation.operationId,
        parameters: Object.fromEntries(idsIn(other).map((id) => [id, `$response.body#/data/${id}`])),
      },
    ]),
  );
}

function idsIn({ path }: Route): string[] {
  return [...path.matchAll(/:(\w+_id)/g)].map(([, name = '']) => name);
}
