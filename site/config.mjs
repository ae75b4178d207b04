/** VitePress' configuration. Copied beside the staged pages, with what build.mjs found out in site.json. */
import { readFileSync } from 'node:fs';
import { diagram } from './diagrams.mjs';

const { sidebar, repository, base } = JSON.parse(readFileSync(new URL('./site.json', import.meta.url), 'utf8'));

export default {
  lang: 'en',
  title: 'Darkroom',
  description: 'A self-hosted service for image and video generation.',
  base,
  metaChunk: true,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // Angle brackets in the pages are text, such as names of arguments.
    html: false,
    anchor: { slugify: anchorOf },
    config: (md) => {
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, index, ...others) =>
        tokens[index].info.trim() === 'mermaid' ? diagram(tokens[index].content) : fence(tokens, index, ...others);
      md.renderer.rules.code_block = (...args) => md.renderer.rules.fence(...args);
      md.renderer.rules.text = escaped(md.renderer.rules.text);
    },
  },
  themeConfig: {
    sidebar,
    nav: [
      { text: 'Try it', link: '/overview' },
      { text: 'Call it', link: '/api/' },
      { text: 'Run it', link: '/operating/' },
      { text: 'Extend it', link: '/writing-an-adapter' },
      { text: 'REST reference', link: '/reference/rest/index.html', target: '_self' },
    ],
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: repository === undefined ? undefined : [{ icon: 'git', link: repository, ariaLabel: 'Source code' }],
  },
};

/** The anchor of a heading as GitHub makes it: lower case, without punctuation, spaces as hyphens. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** Vue would evaluate two braces in a text. */
function escaped(rule) {
  return (...args) => rule(...args).replaceAll('{{', '&#123;&#123;');
}
