import { SCOPE_NAMES } from '../format.js';
import type { Scope } from '../server-types.js';

interface ScopeTagsProps {
  readonly scopes: readonly Scope[];
  /** What a scope allows, as a sentence without a full stop. */
  readonly textOf: (scope: Scope) => string;
}

/** Scopes as short words; the sentence is in the title, and for screen readers. */
export function ScopeTags({ scopes, textOf }: ScopeTagsProps) {
  return (
    <ul class="tags">
      {scopes.map((scope) => (
        <li key={scope} class="tag" title={`${textOf(scope)} (${scope})`}>
          <span aria-hidden="true">{SCOPE_NAMES[scope]}</span>
          <span class="visually-hidden">{textOf(scope)}</span>
        </li>
      ))}
    </ul>
  );
}
