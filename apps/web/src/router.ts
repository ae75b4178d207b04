import { computed, signal } from '@preact/signals';

const BASE = '/console/';

export interface SectionLink {
  readonly name: string;
  readonly title: string;
}

/** The sections of the page, as they stand in its navigation. */
export const SECTIONS = [
  { name: 'api-and-mcp', title: 'API and MCP' },
  { name: 'credits', title: 'Credits' },
  { name: 'sign-in', title: 'Sign-in' },
] as const satisfies readonly SectionLink[];

export type SectionName = (typeof SECTIONS)[number]['name'];

/** The address of a section. */
export function hrefOf(name: SectionName): string {
  return BASE + name;
}

/** The path of the address. */
export const path = signal(window.location.pathname);

/** The section that the address names. */
export const section = computed<SectionName>(
  () => SECTIONS.find(({ name }) => hrefOf(name) === path.value)?.name ?? SECTIONS[0].name,
);

/** Whether the person went to the section within the page, whose heading then gets the focus. */
export const hasMoved = signal(false);

/** Goes to another address of this page. */
export function goTo(href: string): void {
  window.history.pushState(null, '', href);
  show();
}

window.addEventListener('popstate', show);

function show(): void {
  hasMoved.value = true;
  path.value = window.location.pathname;
}
