import type { AudienceColor } from "../bindings/AudienceColor";

/** Line drawings on a 16-pixel grid, stroked with the colour of the text around them. */
export const ICONS = {
  assistant: "M8 2v4M8 10v4M2 8h4M10 8h4M4 4l1.4 1.4M10.6 10.6 12 12M12 4l-1.4 1.4M5.4 10.6 4 12",
  user: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z",
  programmatic:
    "M6 2.5H5A1.5 1.5 0 0 0 3.5 4v2.2C3.5 7.2 3 8 2 8c1 0 1.5.8 1.5 1.8V12A1.5 1.5 0 0 0 5 13.5h1M10 2.5h1A1.5 1.5 0 0 1 12.5 4v2.2c0 1 .5 1.8 1.5 1.8-1 0-1.5.8-1.5 1.8V12a1.5 1.5 0 0 1-1.5 1.5h-1",
  view: "M3.5 2.5h9A1.5 1.5 0 0 1 14 4v8a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 12V4a1.5 1.5 0 0 1 1.5-1.5zM2 6h12",
  other: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 8h.01",
  check: "M3 8.5l3.2 3.2L13 4.8",
  cross: "M4 4l8 8M12 4l-8 8",
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2 1.4",
  right: "M2.5 8h11M9.5 4l4 4-4 4",
  left: "M13.5 8h-11M6.5 4l-4 4 4 4",
  down: "M8 2.5v11M4 9.5l4 4 4-4",
  chevron: "M4 6l4 4 4-4",
  chevronRight: "M6 4l4 4-4 4",
  plus: "M8 3v10M3 8h10",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  gear: "M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4zM8 1.8v1.6M8 12.6v1.6M1.8 8h1.6M12.6 8h1.6M3.6 3.6l1.1 1.1M11.3 11.3l1.1 1.1M12.4 3.6l-1.1 1.1M4.7 11.3l-1.1 1.1",
  panelLeft: "M3.5 2.5h9A1.5 1.5 0 0 1 14 4v8a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 12V4a1.5 1.5 0 0 1 1.5-1.5zM6 2.5v11",
  panelRight: "M3.5 2.5h9A1.5 1.5 0 0 1 14 4v8a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 12V4a1.5 1.5 0 0 1 1.5-1.5zM10 2.5v11",
  expand: "M6 2.5H2.5V6M10 2.5h3.5V6M13.5 10v3.5H10M2.5 10v3.5H6",
  shrink: "M2.5 6H6V2.5M13.5 6H10V2.5M10 13.5V10h3.5M6 13.5V10H2.5",
  pip: "M2.5 3.5h11v9h-11zM8 8h3.5v2.5H8z",
  move: "M8 2v12M2 8h12M6.3 3.7 8 2l1.7 1.7M6.3 12.3 8 14l1.7-1.7M3.7 6.3 2 8l1.7 1.7M12.3 6.3 14 8l-1.7 1.7",
  resize: "M13 6.5 6.5 13M13 10.5 10.5 13",
  stop: "M4.5 4.5h7v7h-7z",
  play: "M5 3.2v9.6L12.6 8z",
  send: "M13 4v4.5H4M7 5.5l-3 3 3 3",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5V5h-2.5",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  save: "M8 2.5v7M4.8 6.5 8 9.7l3.2-3.2M3 13.5h10",
  link: "M9.5 2.5h4v4M13.5 2.5 8 8M11.5 9.5v4h-9v-9h4",
  door: "M4 13.5v-11h8v11M2.5 13.5h11M9.8 8h.01",
  shield: "M8 1.8l5 1.8v4c0 3.2-2.1 5.5-5 6.6-2.9-1.1-5-3.4-5-6.6v-4z",
  warning: "M8 2.2l6.3 11.3H1.7zM8 6.5v3M8 11.6h.01",
  info: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 7.5v3M8 5.3h.01",
  console: "M2.5 3.5h11v9h-11zM5 6.5l2 1.5-2 1.5M8.5 10h2.5",
  bug: "M5 6.5h6v4a3 3 0 0 1-6 0zM6 6.5V5a2 2 0 0 1 4 0v1.5M5 8.5H2M11 8.5h3M5.2 11.5 3 13.5M10.8 11.5l2.2 2M5.2 6.6 3 4.5M10.8 6.6 13 4.5",
  blocked: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6",
  policy: "M4 2.5h8v11H4zM6.2 6h3.6M6.2 8.5h3.6",
  trash: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.6 9h5.8l.6-9",
  edit: "M10.8 2.8l2.4 2.4-7.6 7.6-3 .6.6-3z",
  tool: "M9.6 5.4a3 3 0 0 1 3.9-3.1l-1.9 1.9.2 1.4 1.4.2 1.1-1.1a3 3 0 0 1-3.9 3.6L5 13.6A1.6 1.6 0 0 1 2.6 11z",
} as const;

export type IconName = keyof typeof ICONS;

/** The one icon of an audience. */
export function audienceIcon(color: AudienceColor): IconName {
  return color;
}
