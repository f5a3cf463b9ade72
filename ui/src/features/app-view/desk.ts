import { Desk } from "../../components/view/consent";

/** The window's one desk: no two Views ask at the same time. */
export const desk = new Desk(() => performance.now());
