import type { ComponentChildren } from 'preact';
import { goTo } from '../router.js';

interface PageLinkProps {
  readonly href: string;
  readonly isCurrent?: boolean;
  readonly class?: string;
  /** The label for screen readers, where the visible text does not say where it leads. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A link to an address of this page, which needs no other page for it. With a key held down browsers do what they do. */
export function PageLink({ href, isCurrent = false, class: className, label, children }: PageLinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    goTo(href);
    window.scrollTo(0, 0);
  };
  return (
    <a href={href} class={className} aria-label={label} aria-current={isCurrent ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  );
}
